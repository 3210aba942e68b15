"""An earlier run whose results may be reused, and why some may not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, BinaryIO

from forum_runner.errors import UsageError
from forum_runner.execute.machine import Fingerprints, Reusable, Unit
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.recorded_body import RecordedBodies, RecordedBody, RedactedBodyError
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.verifier import WITHOUT_SEAL, verify_run
from forum_runner.wave_plan.unit_id import task_of_unit
from forum_runner.wave_plan.wave_plan_reader import WavePlan, decode_wave_plan

_FIELDS = ("instruction", "run", "output", "done_when", "accept", "agent", "needs")
_REDACTED = "its output was redacted"
_NOT_THERE = "it is not part of that run"


@dataclass(slots=True)
class EarlierResult:
    """The result of a unit in an earlier run; `seq` is the entry with its output."""

    fingerprint: str = ""
    state: str | None = None
    seq: int | None = None
    output: RecordedBody | None = None
    given: dict[str, str] = field(default_factory=dict)
    is_redacted: bool = False


class EarlierRun:
    """A run whose ledger is not invalid. Its archive stays open, because bodies are read on demand."""

    def __init__(self, source: LedgerSource) -> None:
        directory, report = verify_run(source, "results are taken from a run directory", WITHOUT_SEAL)
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
            raise UsageError(f"'{self.directory}' is not a run of a workflow: its ledger has no wave plan")
        try:
            self.plan = decode_wave_plan(self._bodies.body(entry.bodies["wave_plan"]).data)
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


class ReuseComparison:
    """Compares a plan with an earlier run: what can be reused, and why the rest cannot."""

    def __init__(self, earlier: EarlierRun, plan: WavePlan) -> None:
        self.earlier = earlier
        self._plan = plan
        self._before = earlier.plan
        self._fingerprints = Fingerprints(plan)
        self._fingerprints_before = Fingerprints(self._before)

    def why_not(self, task: str) -> str | None:
        """Why the task as the plan has it cannot be reused, whatever its data; None if it can."""
        if task not in self._before.tasks:
            return _NOT_THERE
        state = self.earlier.results[task].state if task in self.earlier.results else None
        if state in ("tolerated", "skipped"):
            # It has no output to reuse. Whether it has one this time is only known after it ran.
            return None
        if self._before.tasks[task].foreach is None and state != "passed":
            return f"its state in that run is {state or 'unfinished'}"
        changed = self._changed(task)
        if changed:
            return f"its {changed} changed"
        return _REDACTED if self._has_redacted(task) else None

    def _has_redacted(self, task: str) -> bool:
        """Whether the output of the task, or of an instance of it, was redacted."""
        tasks, results = self._before.tasks, self.earlier.results
        return any(result.is_redacted and task_of_unit(unit, tasks) == task for unit, result in results.items())

    def why(self, unit: Unit, fingerprint: str) -> str:
        """Why this unit runs again."""
        result = self.earlier.results.get(unit.name)
        if result is None or result.state != "passed":
            return f"its state in that run is {result.state or 'unfinished'}" if result else _NOT_THERE
        if unit.task.id not in self._before.tasks:
            return _NOT_THERE
        if result.is_redacted and result.fingerprint == fingerprint:
            return _REDACTED
        changed = self._changed(unit.task.id)
        if changed:
            return f"its {changed} changed"
        given = {name: item.digest for name, item in unit.given.items()}
        others = sorted(name for name in given if given[name] != result.given.get(name))
        if others:
            return f"its input '{others[0]}' changed"
        return f"its fingerprint is {fingerprint[:12]} and was {result.fingerprint[:12]}"

    def _changed(self, name: str) -> str | None:
        task, before = self._plan.tasks[name], self._before.tasks[name]
        for item in _FIELDS:
            if getattr(task, item) != getattr(before, item):
                return "command" if item == "run" else item
        for rung, rung_before in zip(task.ladder, before.ladder, strict=False):
            if self._plan.adapters[rung.adapter].model != self._before.adapters[rung_before.adapter].model:
                return "model"
        if task.agent is None or before.agent is None:
            return None
        now = self._fingerprints.of(task, task.agent, task.ladder, {})
        then = self._fingerprints_before.of(before, before.agent, before.ladder, {})
        return None if now == then else "agent or adapter"
