"""An earlier run whose results may be reused, and why some of them may not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import BinaryIO

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

# The kinds of entries that a result is read from.
_RESULT_KINDS = frozenset({"edge.delivered", "task.started", "task.finished", "task.reused", "task.ended"})
# The fields of a task whose change explains why its result cannot be reused.
_COMPARED_FIELDS = ("instruction", "run", "output", "done_when", "accept", "agent", "needs")
_REDACTED = "its output was redacted"
_NOT_IN_RUN = "it is not part of that run"


@dataclass(slots=True)
class EarlierResult:
    """The result of a unit in an earlier run; `seq` is the entry with its output.

    `delivered` has the digest of each value that the unit received.
    """

    fingerprint: str = ""
    state: str | None = None
    seq: int | None = None
    output: RecordedBody | None = None
    delivered: dict[str, str] = field(default_factory=dict)
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
            elif entry.kind == "body.redacted":
                redacted.add(entry.data["digest"])
            elif entry.task is not None and entry.kind in _RESULT_KINDS:
                self._read_result(entry, self.results.setdefault(entry.task, EarlierResult()))
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

    def _read_result(self, entry: ReadEntry, result: EarlierResult) -> None:
        if entry.kind == "edge.delivered":
            result.delivered[entry.data["as"]] = entry.bodies["value"]["digest"]
        elif entry.kind == "task.ended":
            result.state = entry.data["state"]
        else:
            result.fingerprint = entry.data.get("fingerprint", result.fingerprint)
            if "output" in entry.bodies:
                result.seq, result.output = entry.seq, self._bodies.body(entry.bodies["output"])

    def find(self, unit: Unit, fingerprint: str) -> Reusable | None:
        """The result of the unit; None if it is unusable, was redacted or has a different fingerprint."""
        result = self.results.get(unit.name)
        if result is None or result.fingerprint != fingerprint or result.is_redacted:
            return None
        return self.reusable("from", result)

    def reusable(self, source: str, result: EarlierResult) -> Reusable | None:
        """The result for another run; None if the unit did not pass or has no output."""
        if result.state != "passed" or result.seq is None or result.output is None:
            return None
        return Reusable(source, self.run, result.seq, result.output)

    def close(self) -> None:
        self._stream.close()


class ReuseComparison:
    """Compares a plan with an earlier run, and explains why a result of that run cannot be reused."""

    def __init__(self, earlier: EarlierRun, plan: WavePlan) -> None:
        self.earlier = earlier
        self._plan = plan
        self._earlier_plan = earlier.plan
        self._fingerprints = Fingerprints(plan)
        self._earlier_fingerprints = Fingerprints(earlier.plan)

    def reason_against(self, task: str) -> str | None:
        """Why the result of the task cannot be reused, whatever its data; None if it can."""
        if task not in self._earlier_plan.tasks:
            return _NOT_IN_RUN
        state = self.earlier.results[task].state if task in self.earlier.results else None
        if state in ("tolerated", "skipped"):
            # It had no output. Whether it has one this time is only known after it has run.
            return None
        if self._earlier_plan.tasks[task].foreach is None and state != "passed":
            return f"its state in that run is {state or 'unfinished'}"
        changed = self._changed_part(task)
        if changed:
            return f"its {changed} changed"
        return _REDACTED if self._has_redacted(task) else None

    def _has_redacted(self, task: str) -> bool:
        """Whether the output of the task, or of an instance of it, was redacted."""
        tasks, results = self._earlier_plan.tasks, self.earlier.results
        return any(result.is_redacted and task_of_unit(unit, tasks) == task for unit, result in results.items())

    def reason_to_run(self, unit: Unit, fingerprint: str) -> str:
        """Why this unit runs again instead of reusing its result."""
        result = self.earlier.results.get(unit.name)
        if result is None or result.state != "passed":
            return f"its state in that run is {result.state or 'unfinished'}" if result else _NOT_IN_RUN
        if unit.task.id not in self._earlier_plan.tasks:
            return _NOT_IN_RUN
        if result.is_redacted and result.fingerprint == fingerprint:
            return _REDACTED
        changed = self._changed_part(unit.task.id)
        if changed:
            return f"its {changed} changed"
        delivered = sorted(unit.delivered.items())
        changed_input = next((name for name, value in delivered if value.digest != result.delivered.get(name)), None)
        if changed_input is not None:
            return f"its input '{changed_input}' changed"
        return f"its fingerprint is {fingerprint[:12]} and was {result.fingerprint[:12]}"

    def _changed_part(self, name: str) -> str | None:
        """The part of the task that differs from the earlier plan; None if none does."""
        task, before = self._plan.tasks[name], self._earlier_plan.tasks[name]
        for item in _COMPARED_FIELDS:
            if getattr(task, item) != getattr(before, item):
                return "command" if item == "run" else item
        for rung, rung_before in zip(task.ladder, before.ladder, strict=False):
            if self._plan.adapters[rung.adapter].model != self._earlier_plan.adapters[rung_before.adapter].model:
                return "model"
        if task.agent is None or before.agent is None:
            return None
        fingerprint = self._fingerprints.compute(task, task.agent, task.ladder, {})
        fingerprint_before = self._earlier_fingerprints.compute(before, before.agent, before.ladder, {})
        return None if fingerprint == fingerprint_before else "agent or adapter"
