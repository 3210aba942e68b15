"""Hands decisions to the process that executes a run.

A ledger has one writer. Another process leaves a decision as a file in the run directory; the writer removes the file
and records the decision.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

import orjson

from forum_runner.errors import UsageError
from forum_runner.execute.machine import Decided
from forum_runner.ledger.entry_schema import fits
from forum_runner.ledger.files import is_being_written
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.run_reader import read_entries
from forum_runner.write_file import write_file

_PREFIX = "decision-"
_SUFFIX = ".json"
_MAX_BYTES = 1 << 24
_DECISIONS = ("approved", "rejected")
_TEXTS = frozenset({"reason", "edited"})
_POLL_S = 0.05
# The writer polls several times a second, but may have to wait for its disk.
_TIMEOUT_S = 20.0


class DecisionBox:
    """The decision files in a run directory. The writer of the ledger removes them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # Files that cannot be removed. They are ignored, because they would be recorded repeatedly.
        self._unremovable: set[str] = set()

    def put(self, decided: Decided) -> Path:
        """Writes a decision, and returns its file."""
        texts = {name: text.decode() for name, text in decided.texts.items()}
        facts = {"task": decided.task, "decision": decided.decision, "actor": decided.actor}
        path = self._directory / f"{_PREFIX}{time.time_ns()}-{os.getpid()}{_SUFFIX}"
        write_file(path, orjson.dumps({**facts, "displayed": decided.displayed, "texts": texts}))
        return path

    def take(self) -> list[Decided]:
        """Returns decisions, oldest first. Removes their files first, so that no decision is recorded twice."""
        decisions = [(name, _read(self._directory / name)) for name in self._names()]
        return [decided for name, decided in decisions if self._remove(name) and decided is not None]

    def clear(self) -> None:
        """Removes decisions whose processes gave up or were killed."""
        for name in self._names():
            self._remove(name)

    def _names(self) -> list[str]:
        with suppress(OSError):
            names = {path.name for path in self._directory.iterdir()} - self._unremovable
            return sorted(name for name in names if name.startswith(_PREFIX) and name.endswith(_SUFFIX))
        return []

    def _remove(self, name: str) -> bool:
        try:
            (self._directory / name).unlink()
        except OSError:
            self._unremovable.add(name)
            return False
        return True


def _read(path: Path) -> Decided | None:
    """Reads a decision. None for any other file: other programs may write here, even create a pipe that blocks."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            document = orjson.loads(stream.read(_MAX_BYTES) if is_file else b"")
        texts = {name: text.encode() for name, text in document.pop("texts").items()}
        decided = Decided(**document, texts=texts)
        is_valid = all(isinstance(part, str) for part in document.values()) and decided.decision in _DECISIONS
        is_by_person = is_valid and decided.actor.startswith("person:") and fits("actor", decided.actor)
        return decided if is_by_person and texts.keys() <= _TEXTS else None
    return None


async def hand_over(directory: Path, decided: Decided, opening_seq: int) -> bool:
    """Hands a decision to the process that executes the run. Returns whether that process recorded the decision.

    `opening_seq` is the seq of the entry that opened the gate. Returns False if the process ended first. Raises
    UsageError if another decision was recorded, or none in time.
    """
    box = DecisionBox(directory)
    path = box.put(decided)
    deadline_s = time.monotonic() + _TIMEOUT_S
    try:
        while time.monotonic() < deadline_s:
            has_ended = not is_being_written(directory)
            found = None if path.exists() and not has_ended else _decision_about(directory, decided.task, opening_seq)
            if found is not None:
                _check_is_same(decided, found)
                return True
            if has_ended:
                return False
            await asyncio.sleep(_POLL_S)
    finally:
        path.unlink(missing_ok=True)
    raise UsageError("the running process did not record the decision; decide again when the run has paused")


def _decision_about(directory: Path, task: str, opening_seq: int) -> ReadEntry | None:
    for entry in read_entries(directory):
        if entry.kind == "gate.decided" and entry.seq > opening_seq and entry.task == task:
            return entry
    return None


def _check_is_same(decided: Decided, found: ReadEntry) -> None:
    if (found.actor, found.data["by"], found.data["decision"]) != (decided.actor, "person", decided.decision):
        actor = "its deadline" if found.data["by"] == "deadline" else found.actor
        raise UsageError(f"'{decided.task}' was decided in the meantime by {actor}: {found.data['decision']}")
