"""Takes up a run from its ledger: the same entries, the same state."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from forum_runner.errors import UsageError
from forum_runner.execute.machine.plan_values import RecordedBody, RedactedBodyError
from forum_runner.execute.machine.state import RunState
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.layout import BODIES, LEDGER, MAX_LINE_BYTES, WAVE_PLAN
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.read_entry import SEAL, ReadEntry, read_entry
from forum_runner.ledger.semantics.checker import SemanticsChecker
from forum_runner.ledger.semantics.plan import Plan, read_plan
from forum_runner.ledger.semantics.violation import Violation
from forum_runner.ledger.verification.bytes_level import LineFault, LineReader
from forum_runner.ledger.verification.report import DamagedLedgerError, LedgerFinding


class RecordedBodies:
    """The bodies of a ledger that was verified."""

    def __init__(self, stream: BinaryIO) -> None:
        self.reader = BodyReader(stream)

    def body(self, reference: Mapping[str, Any]) -> RecordedBody:
        known = dict(reference)
        return RecordedBody(known["digest"], known["type"], "salted" in known, lambda: self._read(known))

    def of(self, entry: ReadEntry) -> dict[str, RecordedBody]:
        return {name: self.body(reference) for name, reference in entry.bodies.items()}

    def _read(self, reference: dict[str, Any]) -> bytes:
        found = self.reader.read(reference)
        if found is None:
            raise RedactedBodyError(reference["digest"])
        return found


def read_entries(directory: Path) -> Iterator[ReadEntry]:
    with (directory / LEDGER).open("rb") as stream:
        for line in Lines(stream):
            entry = read_entry(line)
            if entry is not None:
                yield entry


def ends_with_a_seal(directory: Path) -> bool:
    """Whether the last line, by its own word, is a seal."""
    with (directory / LEDGER).open("rb") as stream:
        stream.seek(max(stream.seek(0, os.SEEK_END) - 2 * MAX_LINE_BYTES, 0))
        lines = stream.read().split(b"\n")
    last = read_entry(lines[-2]) if len(lines) > 1 else None
    return last is not None and last.kind == SEAL


class Beginning(NamedTuple):
    """The first entry of a run, and the wave plan that it names: as bytes, and as a verifier reads it."""

    entry: dict[str, Any]
    wave_plan: bytes
    plan: Plan


def read_beginning(directory: Path) -> Beginning:
    """Of a run of a plan. A DamagedLedgerError if the first entry or the plan does not hold."""
    with (directory / LEDGER).open("rb") as lines, (directory / BODIES).open("rb") as archive:
        try:
            entry = LineReader().read(next(iter(Lines(lines)), b""))
            reference = entry["bodies"].get("wave_plan")
            if reference is None:
                raise UsageError(f"'{directory}' is not the run of a plan")
            data = RecordedBodies(archive).body(reference).data
            return Beginning(entry, data, read_plan(data, entry["data"]))
        except (LineFault, Violation) as fault:
            raise DamagedLedgerError(str(directory), LedgerFinding(fault.code, 0, str(fault))) from fault
        except RedactedBodyError as error:
            raise UsageError(f"the wave plan of '{directory}' was redacted: nobody can go on with the run") from error


class Restoring:
    """Brings a state to where a ledger ends, entry by entry, as long as they tell a lawful run (level 4).

    The archive stays open: bodies are read when they are needed.
    """

    def __init__(self, state: RunState, directory: Path, plan: Plan) -> None:
        self._state = state
        self._name = str(directory)
        self._stream = (directory / BODIES).open("rb")
        self._bodies = RecordedBodies(self._stream)
        self._replay = SemanticsChecker(plan, self._bodies.reader)

    def look(self, seq: int, entry: dict[str, Any]) -> None:
        try:
            self._replay.look(seq, entry)
        except Violation as unlawful:
            raise DamagedLedgerError(self._name, LedgerFinding(unlawful.code, seq, str(unlawful))) from unlawful
        at_us = read_time(entry["at"])
        kind, data, bodies = entry["kind"], entry["data"], entry["bodies"]
        self._state.apply(kind, at_us, data, {name: self._bodies.body(body) for name, body in bodies.items()})

    def close(self) -> None:
        self._stream.close()


def workflow_of(directory: Path) -> str | None:
    """The name of the workflow that a run directory is of; None if it cannot be read."""
    try:
        document = orjson.loads((directory / WAVE_PLAN).read_bytes())
        return str(document["metadata"]["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def mode_of(directory: Path) -> str | None:
    """Live, scripted or deterministic, as the first entry says; None if it cannot be read."""
    try:
        opened = next(read_entries(directory), None)
    except OSError:
        return None
    return None if opened is None else opened.data.get("mode")
