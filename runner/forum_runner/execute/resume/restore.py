"""Restores a run from its ledger: the same entries lead to the same state."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import orjson

from forum_runner.errors import UsageError
from forum_runner.execute.machine import RunState
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.layout import BODIES, LEDGER
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.recorded_body import RecordedBodies, RedactedBodyError
from forum_runner.ledger.semantics.checked_plan import read_checked_plan
from forum_runner.ledger.semantics.checker import SemanticsChecker
from forum_runner.ledger.semantics.violation import Violation
from forum_runner.ledger.verification.bytes_level import LineFault, LineReader
from forum_runner.ledger.verification.report import DamagedLedgerError, LedgerFinding
from forum_runner.wave_plan.wave_plan_reader import WavePlan


class RunStart(NamedTuple):
    """The first entry of a run, and the wave plan that it names: its bytes, and what they say."""

    entry: dict[str, Any]
    wave_plan: bytes
    plan: WavePlan


def read_run_start(directory: Path) -> RunStart:
    """A DamagedLedgerError if the first entry or the wave plan is invalid."""
    with (directory / LEDGER).open("rb") as lines, (directory / BODIES).open("rb") as archive:
        try:
            line = next(iter(Lines(lines)), b"")
            LineReader().read(line)
            entry = orjson.loads(line)
            reference = entry["bodies"].get("wave_plan")
            if reference is None:
                raise UsageError(f"'{directory}' is not a run of a plan")
            data = RecordedBodies(archive).body(reference).data
            return RunStart(entry, data, read_checked_plan(data, entry["data"]))
        except (LineFault, Violation) as fault:
            raise DamagedLedgerError(str(directory), LedgerFinding(fault.code, 0, str(fault))) from fault
        except RedactedBodyError as error:
            raise UsageError(f"the wave plan of '{directory}' was redacted: the run cannot be resumed") from error


class StateRestorer:
    """Applies the entries of a ledger to a state, and checks each against the rules of level 4.

    The archive stays open: bodies are read when they are needed.
    """

    def __init__(self, state: RunState, directory: Path, plan: WavePlan) -> None:
        self._state = state
        self._name = str(directory)
        self._stream = (directory / BODIES).open("rb")
        self._bodies = RecordedBodies(self._stream)
        self._checker = SemanticsChecker(plan, self._bodies.reader)

    def observe(self, seq: int, entry: dict[str, Any]) -> None:
        try:
            self._checker.observe(seq, entry)
        except Violation as violation:
            raise DamagedLedgerError(self._name, LedgerFinding(violation.code, seq, str(violation))) from violation
        at_us = read_time(entry["at"])
        kind, data, bodies = entry["kind"], entry["data"], entry["bodies"]
        self._state.apply(kind, at_us, data, {name: self._bodies.body(body) for name, body in bodies.items()})

    def close(self) -> None:
        self._stream.close()
