"""Results of earlier runs that may stand in for attempts, and why others may not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import orjson

from forum_runner.errors import UsageError
from forum_runner.execute.machine import Fingerprints, Reusable, RunPlan, Unit
from forum_runner.ledger.layout import BODIES, LEDGER
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.recorded_body import RecordedBodies, RecordedBody, RedactedBodyError
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.report import DamagedLedgerError
from forum_runner.ledger.verification.verified_run import WITHOUT_SEAL, verified_run
from forum_runner.write_file import write_file

CACHE = Path(".forum/cache")
_FIELDS = ("instruction", "run", "output", "done_when", "accept")
_REDACTED = "its output was redacted"
NOT_THERE = "it was not in that run"


@dataclass(slots=True)
class EarlierResult:
    """What a unit came to in an earlier run; `seq` is the entry that holds its output, if nobody redacted it."""

    fingerprint: str = ""
    state: str | None = None
    seq: int | None = None
    output: RecordedBody | None = None
    given: dict[str, str] = field(default_factory=dict)
    is_redacted: bool = False


class EarlierRun:
    """A run whose ledger holds. Its archive stays open, as bodies are read when they are needed."""

    def __init__(self, source: LedgerSource) -> None:
        directory, report = verified_run(source, "results are taken from a run directory", WITHOUT_SEAL)
        self.directory = directory
        self.head = report.head
        self.results: dict[str, EarlierResult] = {}
        self._stream: BinaryIO = (directory / BODIES).open("rb")
        self._bodies = RecordedBodies(self._stream)
        self.run = ""
        self.is_live = True
        self.status: str | None = None
        try:
            self._read()
        except UsageError:
            self.close()
            raise

    def _read(self) -> None:
        redacted: set[str] = set()
        for entry in read_entries(self.directory):
            self.run = entry.run
            if entry.kind == "run.opened":
                self._open(entry)
            elif entry.kind == "run.sealed":
                self.status = entry.data["status"]
            elif entry.kind == "body.redacted":
                redacted.add(entry.data["digest"])
            elif entry.task is not None and entry.kind in _READERS:
                _READERS[entry.kind](self, self.results.setdefault(entry.task, EarlierResult()), entry)
        for result in self.results.values():
            result.is_redacted = result.output is not None and result.output.digest in redacted

    def _open(self, entry: ReadEntry) -> None:
        self.is_live = entry.data["mode"] == "live"
        if "wave_plan" not in entry.bodies:
            raise UsageError(f"'{self.directory}' is not the run of a plan")
        try:
            self.wave_plan: Mapping[str, Any] = orjson.loads(self._bodies.body(entry.bodies["wave_plan"]).data)
        except RedactedBodyError as error:
            raise UsageError(f"the wave plan of '{self.directory}' was redacted: nothing is reused from it") from error

    def _delivered(self, result: EarlierResult, entry: Any) -> None:
        result.given[entry.data["as"]] = entry.bodies["value"]["digest"]

    def _started(self, result: EarlierResult, entry: Any) -> None:
        result.fingerprint = entry.data["fingerprint"]

    def _finished(self, result: EarlierResult, entry: Any) -> None:
        if "output" in entry.bodies:
            result.seq, result.output = entry.seq, self._bodies.body(entry.bodies["output"])

    def _reused(self, result: EarlierResult, entry: Any) -> None:
        self._started(result, entry)
        self._finished(result, entry)

    def _ended(self, result: EarlierResult, entry: Any) -> None:
        result.state = entry.data["state"]

    def find(self, unit: Unit, fingerprint: str) -> Reusable | None:
        result = self.results.get(unit.name)
        if result is None or result.state != "passed" or result.fingerprint != fingerprint:
            return None
        if result.seq is None or result.output is None or result.is_redacted:
            return None
        return Reusable("from", self.run, result.seq, result.output)

    def close(self) -> None:
        self._stream.close()


_READERS = {
    "edge.delivered": EarlierRun._delivered,
    "task.started": EarlierRun._started,
    "task.finished": EarlierRun._finished,
    "task.reused": EarlierRun._reused,
    "task.ended": EarlierRun._ended,
}


class Comparison:
    """An earlier run beside a plan: what can be reused of it, and why not the rest."""

    def __init__(self, earlier: EarlierRun, plan: RunPlan) -> None:
        self.earlier = earlier
        self._plan = plan
        self._before = RunPlan(earlier.wave_plan)
        self._fingerprints = Fingerprints(plan)
        self._fingerprints_before = Fingerprints(self._before)

    def why_not(self, task: str) -> str | None:
        """Why the task as the plan has it could not be reused, whatever its data; None if it could."""
        if task not in self._before.tasks:
            return NOT_THERE
        state = self.earlier.results[task].state if task in self.earlier.results else None
        if state in ("tolerated", "skipped"):
            # It gave nothing that could be reused, and whether it would now is seen by doing it again.
            return None
        if self._before.tasks[task].foreach is None and state != "passed":
            return f"it was {state or 'not finished'} in that run"
        changed = self._changed(task)
        if changed:
            return f"its {changed} changed"
        return _REDACTED if self._has_redacted(task) else None

    def _has_redacted(self, task: str) -> bool:
        """Whether the output of the task, or of an instance of it, is gone."""
        results = self.earlier.results.items()
        return any(result.is_redacted and task in (name, name.rpartition("[")[0]) for name, result in results)

    def why(self, unit: Unit, fingerprint: str) -> str:
        """Why this unit is run again."""
        result = self.earlier.results.get(unit.name)
        if result is None or result.state != "passed":
            return f"it was {result.state or 'not finished'} in that run" if result else NOT_THERE
        if unit.task.id not in self._before.tasks:
            return NOT_THERE
        if result.is_redacted and result.fingerprint == fingerprint:
            return _REDACTED
        changed = self._changed(unit.task.id)
        if changed:
            return f"its {changed} changed"
        given = {name: item.digest for name, item in unit.given.items()}
        others = sorted(name for name in given if given[name] != result.given.get(name))
        if others:
            return f"what it is given as '{others[0]}' changed"
        return f"its fingerprint is {fingerprint[:12]} and was {result.fingerprint[:12]}"

    def _changed(self, name: str) -> str | None:
        task, before = self._plan.tasks[name], self._before.tasks[name]
        for item in _FIELDS:
            if task.form.get(item) != before.form.get(item):
                return "command" if item == "run" else item
        if task.agent != before.agent:
            return "agent"
        if task.form.get("needs") != before.form.get("needs"):
            return "needs"
        for step, step_before in zip(task.ladder, before.ladder, strict=False):
            own, other = self._plan.adapters[step.adapter], self._before.adapters[step_before.adapter]
            if own.get("model") != other.get("model"):
                return "model"
        if task.agent is None or before.agent is None:
            return None
        now = self._fingerprints.of(task, task.agent, task.ladder, {})
        then = self._fingerprints_before.of(before, before.agent, before.ladder, {})
        return None if now == then else "agent or adapter"


class ResultCache(Protocol):
    """Where a result is looked for by its fingerprint alone."""

    def find(self, fingerprint: str) -> Reusable | None: ...

    def has_redacted(self, fingerprint: str) -> bool:
        """Whether there was a result, and its output was redacted."""
        ...

    def keep(self, fingerprint: str, run: str, task: str, directory: Path) -> None: ...

    def close(self) -> None: ...


class GivenRun:
    """One run that is given as a cache, to a run with a script. Of several results the earliest is taken."""

    def __init__(self, directory: Path) -> None:
        self._earlier = EarlierRun(LedgerSource(str(directory), directory / LEDGER, directory))
        self._known: dict[str, Reusable] = {}
        self._redacted: set[str] = set()
        if not self._earlier.is_live:
            self._take(self._earlier)

    def _take(self, earlier: EarlierRun) -> None:
        tasks = earlier.wave_plan["tasks"]
        results = [(found.seq, unit, found) for unit, found in earlier.results.items() if found.seq is not None]
        for seq, unit, found in sorted(results, key=lambda item: item[:2]):
            form = tasks[unit] if unit in tasks else tasks[unit.rpartition("[")[0]]
            is_kept = "cache" in form and found.state == "passed"
            if not is_kept or found.output is None or found.output.is_sensitive:
                continue
            if found.is_redacted:
                self._redacted.add(found.fingerprint)
            else:
                self._known.setdefault(found.fingerprint, Reusable("cache", earlier.run, seq, found.output))

    def find(self, fingerprint: str) -> Reusable | None:
        return self._known.get(fingerprint)

    def has_redacted(self, fingerprint: str) -> bool:
        return fingerprint in self._redacted

    def keep(self, fingerprint: str, run: str, task: str, directory: Path) -> None:
        """Leaves it as it is."""

    def close(self) -> None:
        self._earlier.close()


class Cache:
    """Where results with a fingerprint stand: one small file for each. A run that is gone is no result.

    The place of a run in the folder that holds the cache is kept relative to it: the folder may be moved.
    """

    def __init__(self, directory: Path = CACHE) -> None:
        self._directory = directory
        self._runs: dict[Path, EarlierRun | None] = {}

    def find(self, fingerprint: str) -> Reusable | None:
        found = self._found(fingerprint)
        return None if found is None or found[1] else found[0]

    def has_redacted(self, fingerprint: str) -> bool:
        found = self._found(fingerprint)
        return found is not None and found[1]

    def _found(self, fingerprint: str) -> tuple[Reusable, bool] | None:
        """The result, and whether its output was redacted."""
        try:
            found = orjson.loads(self._path(fingerprint).read_bytes())
            run, task, place = str(found["run"]), str(found["task"]), self._directory.resolve() / found["directory"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        earlier = self._open(Path(os.path.normpath(place)))
        result = earlier.results.get(task) if earlier is not None and earlier.run == run else None
        if result is None or result.state != "passed" or result.fingerprint != fingerprint:
            return None
        if result.seq is None or result.output is None or result.output.is_sensitive:
            return None
        return Reusable("cache", run, result.seq, result.output), result.is_redacted

    def _open(self, directory: Path) -> EarlierRun | None:
        """A run that does not hold, or is still being written by another process, gives nothing."""
        if directory not in self._runs:
            self._runs[directory] = None
            with suppress(UsageError, DamagedLedgerError, OSError):
                self._runs[directory] = EarlierRun(LedgerSource(str(directory), directory / LEDGER, directory))
        return self._runs[directory]

    def keep(self, fingerprint: str, run: str, task: str, directory: Path) -> None:
        place, cache = directory.resolve(), self._directory.resolve()
        is_near = place.is_relative_to(cache.parent.parent)
        form = {"run": run, "task": task, "directory": os.path.relpath(place, cache) if is_near else str(place)}
        path = self._path(fingerprint)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, orjson.dumps(form))

    def _path(self, fingerprint: str) -> Path:
        return self._directory / fingerprint[:2] / fingerprint[2:]

    def close(self) -> None:
        for earlier in self._runs.values():
            if earlier is not None:
                earlier.close()
