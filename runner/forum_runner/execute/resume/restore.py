"""Restores a run from its ledger: the same entries lead to the same state."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from msgspec import to_builtins

from forum_runner.errors import UsageError
from forum_runner.execute.machine import RunState
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.entries import AnyEntry, Entry, RunOpened
from forum_runner.ledger.layout import BODIES, LEDGER
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.recorded_body import RecordedBody, RedactedBodyError
from forum_runner.ledger.semantics.checked_plan import read_checked_plan
from forum_runner.ledger.semantics.checker import SemanticsChecker
from forum_runner.ledger.verification.bytes_level import check_line
from forum_runner.ledger.verification.report import DamagedLedgerError, Violation
from forum_runner.wave_plan.wave_plan_reader import WavePlan


class RunStart(NamedTuple):
    """The first entry of a run, and its wave plan: the bytes, and the value read from them."""

    entry: Entry[RunOpened]
    wave_plan: bytes
    plan: WavePlan


def read_run_start(directory: Path) -> RunStart:
    """Reads the start of a run. Raises a DamagedLedgerError if the first entry or the wave plan is invalid.

    Raises a UsageError if the ledger has no wave plan, or if the wave plan was redacted.
    """
    with (directory / LEDGER).open("rb") as lines, (directory / BODIES).open("rb") as archive:
        try:
            entry: Entry[Any] = check_line(next(iter(Lines(lines)), b""))
            if "wave_plan" not in entry.bodies or not isinstance(entry.data, RunOpened):
                raise UsageError(f"'{directory}' is not a run of a workflow: its ledger has no wave plan")
            data = RecordedBody(entry.bodies["wave_plan"], BodyReader(archive)).data
            return RunStart(entry, data, read_checked_plan(data, entry.data))
        except Violation as violation:
            raise DamagedLedgerError(str(directory), violation.at(0)) from violation
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
        self._reader = BodyReader(self._stream)
        self._checker = SemanticsChecker(plan, self._reader)

    def apply(self, entry: AnyEntry) -> None:
        try:
            self._checker.check(entry)
        except Violation as violation:
            raise DamagedLedgerError(self._name, violation.at(entry.seq)) from violation
        bodies = {name: RecordedBody(body, self._reader) for name, body in entry.bodies.items()}
        self._state.apply(entry.kind, parse_time(entry.at), to_builtins(entry.data), bodies)

    def close(self) -> None:
        self._stream.close()
