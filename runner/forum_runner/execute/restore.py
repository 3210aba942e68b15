"""Takes up a run from its ledger: the same entries, the same state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from forum_runner.errors import UsageError
from forum_runner.execute.recorder import Watcher
from forum_runner.execute.state import RunState
from forum_runner.execute.values import RecordedBody
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.layout import BODIES, LEDGER, WAVE_PLAN
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.read_entry import ReadEntry, read_entry


class RecordedBodies:
    """The bodies of a ledger that was verified."""

    def __init__(self, stream: BinaryIO) -> None:
        self._reader = BodyReader(stream)

    def body(self, reference: Mapping[str, Any]) -> RecordedBody:
        known = dict(reference)
        return RecordedBody(known["digest"], known["type"], "salted" in known, lambda: self._read(known))

    def of(self, entry: ReadEntry) -> dict[str, RecordedBody]:
        return {name: self.body(reference) for name, reference in entry.bodies.items()}

    def _read(self, reference: dict[str, Any]) -> bytes:
        found = self._reader.read(reference)
        if found is None:
            raise UsageError(f"the body {reference['digest']} is needed, and was redacted")
        return found


def read_entries(directory: Path) -> Iterator[ReadEntry]:
    with (directory / LEDGER).open("rb") as stream:
        for line in Lines(stream):
            entry = read_entry(line)
            if entry is not None:
                yield entry


def restore(state: RunState, directory: Path, watch: Watcher | None = None) -> BinaryIO:
    """Brings a state to where the ledger ends. The archive stays open: bodies are read when they are needed."""
    stream = (directory / BODIES).open("rb")
    bodies = RecordedBodies(stream)
    for entry in read_entries(directory):
        at_us = read_time(entry.at)
        state.apply(entry.kind, at_us, entry.data, bodies.of(entry))
        if watch is not None:
            watch(entry.seq, at_us, entry.kind, entry.data)
    return stream


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
