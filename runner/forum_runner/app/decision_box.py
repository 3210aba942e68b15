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
from dataclasses import asdict
from pathlib import Path

import orjson

from forum_runner.errors import UsageError
from forum_runner.execute.machine import Decided
from forum_runner.ledger.entry_values import Actor, fits
from forum_runner.ledger.files import is_being_written
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.run_reader import read_entries
from forum_runner.write_file import write_file

_PREFIX = "decision-"
_SUFFIX = ".json"
_MAX_FILE_BYTES = 1 << 24
DECISIONS = ("approved", "rejected")
_TEXT_NAMES = frozenset({"reason", "edited"})
_POLL_S = 0.05
# The writer polls several times a second, but may have to wait for its disk.
_TIMEOUT_S = 20.0


class DecisionBox:
    """The decision files in a run directory. The writer of the ledger removes them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # Files that cannot be removed. They are ignored, because their decisions would be recorded repeatedly.
        self._unremovable: set[str] = set()

    def put(self, decided: Decided) -> Path:
        """Writes a decision, and returns its file."""
        texts = {name: text.decode() for name, text in decided.texts.items()}
        path = self._directory / f"{_PREFIX}{time.time_ns()}-{os.getpid()}{_SUFFIX}"
        data = orjson.dumps({**asdict(decided), "texts": texts})
        if len(data) > _MAX_FILE_BYTES:
            problem = f"too long to decide the gate of '{decided.task}' while the run is in progress"
            raise UsageError(f"the reason or instruction is {problem}; shorten it, or decide when the run has paused")
        write_file(path, data)
        return path

    def take(self) -> list[Decided]:
        """Removes the files, so that no decision is recorded twice, and returns their decisions, oldest first."""
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
    """Reads a decision; None if the file has no valid one. Other programs may write here, even a pipe that blocks."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            document = orjson.loads(stream.read(_MAX_FILE_BYTES) if is_file else b"")
        texts = {name: text.encode() for name, text in document.pop("texts").items()}
        decided = Decided(**document, texts=texts)
        is_valid = all(isinstance(member, str) for member in document.values()) and decided.decision in DECISIONS
        is_by_person = is_valid and decided.actor.startswith("person:") and fits(decided.actor, Actor)
        return decided if is_by_person and texts.keys() <= _TEXT_NAMES else None
    return None


async def hand_over(directory: Path, decided: Decided, opening_seq: int) -> bool:
    """Hands a decision to the process that executes the run. Returns whether that process recorded the decision.

    `opening_seq` is the seq of the entry that opened the gate. Returns False if the process ended first. Raises
    UsageError if a different decision was recorded, or none before the timeout.
    """
    box = DecisionBox(directory)
    path = box.put(decided)
    deadline_s = time.monotonic() + _TIMEOUT_S
    try:
        while time.monotonic() < deadline_s:
            has_ended = not is_being_written(directory)
            is_taken = has_ended or not path.exists()
            recorded = _recorded_decision(directory, decided.task, opening_seq) if is_taken else None
            if recorded is not None:
                _check_is_same(decided, recorded)
                return True
            if has_ended:
                return False
            await asyncio.sleep(_POLL_S)
    finally:
        path.unlink(missing_ok=True)
    problem = f"the process that executes the run did not record the decision within {_TIMEOUT_S:g} s"
    raise UsageError(f"{problem}; decide again when the run has paused")


def _recorded_decision(directory: Path, task: str, opening_seq: int) -> ReadEntry | None:
    later = (entry for entry in read_entries(directory) if entry.seq > opening_seq)
    return next((entry for entry in later if entry.kind == "gate.decided" and entry.task == task), None)


def _check_is_same(decided: Decided, recorded: ReadEntry) -> None:
    by, decision = recorded.data["by"], recorded.data["decision"]
    if (recorded.actor, by, decision) != (decided.actor, "person", decided.decision):
        actor = "its deadline" if by == "deadline" else recorded.actor
        raise UsageError(f"'{decided.task}' was {decision} in the meantime by {actor}")
