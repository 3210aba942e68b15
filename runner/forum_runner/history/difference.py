"""Compares the entries of two runs.

Entries are compared per subject: a task, an output, or the run as a whole. Tasks that run in parallel are recorded in a
different order in every run, so the order across subjects says nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.read_entry import ReadEntry, text

Entries = Callable[[], Iterator[ReadEntry | None]]

_MARK_BYTES = 16
# Facts that depend on the time, the run or a salt, and differ between two runs that did the same.
_LEFT_OUT = {
    "run.sealed": ("root",),
    "run.repaired": ("torn",),
    "gate.opened": ("deadline",),
    "gate.decided": ("displayed",),
    "task.reused": ("run", "seq"),
    "body.redacted": ("digest",),
}


@dataclass(frozen=True, slots=True)
class RunDivergence:
    """The first entry of a subject that the runs do not share. A side is None where it has no entry at that index."""

    subject: str
    index: int
    left: ReadEntry | None
    right: ReadEntry | None


@dataclass(frozen=True, slots=True)
class RunDifference:
    """`salted` counts salted bodies: their digests differ in every run, so they are not compared."""

    left: RunHistory
    right: RunHistory
    divergence: RunDivergence | None
    salted: int

    @property
    def has_one_plan(self) -> bool:
        return _plan_of(self.left) == _plan_of(self.right)

    @property
    def is_none(self) -> bool:
        return self.has_one_plan and self.divergence is None and not self.left.unreadable and not self.right.unreadable


@dataclass(slots=True)
class _ComparedRun:
    """One mark for every entry of every subject: equal marks mean equal entries."""

    history: RunHistory = field(default_factory=RunHistory)
    marks: dict[str, bytearray] = field(default_factory=dict)
    salted: int = 0

    def apply(self, entry: ReadEntry | None, number: int) -> tuple[str, int] | None:
        """Adds an entry, and returns its subject and its index there."""
        if entry is None:
            self.history.skip_line(number)
            return None
        self.history.apply(entry)
        self.salted += sum(is_salted(body) for body in entry.bodies.values())
        subject = _subject_of(entry)
        if subject is None:
            return None
        marks = self.marks.setdefault(subject, bytearray())
        marks += _mark(entry)
        return subject, len(marks) // _MARK_BYTES - 1

    def mark(self, subject: str, index: int) -> bytes:
        return bytes(self.marks.get(subject, b"")[index * _MARK_BYTES : (index + 1) * _MARK_BYTES])


def compare(left: Entries, right: Entries) -> RunDifference:
    """Reads both from the beginning, and the right one a second time to find its entry at the divergence."""
    theirs = _ComparedRun()
    for number, entry in enumerate(right()):
        theirs.apply(entry, number)
    ours = _ComparedRun()
    first: tuple[str, int, ReadEntry] | None = None
    for number, entry in enumerate(left()):
        place = ours.apply(entry, number)
        if first is None and place is not None and entry is not None and ours.mark(*place) != theirs.mark(*place):
            first = (*place, entry)
    if first is not None:
        subject, index, found = first
        divergence: RunDivergence | None = RunDivergence(subject, index, found, _entry_at(right, subject, index))
    else:
        divergence = _first_beyond(right, ours)
    return RunDifference(ours.history, theirs.history, divergence, ours.salted + theirs.salted)


def comparable(entry: ReadEntry) -> dict[str, Any]:
    """The facts that two runs can share."""
    data = {name: value for name, value in entry.data.items() if name not in _LEFT_OUT.get(entry.kind, ())}
    for name in ("usage", "totals"):
        if type(data.get(name)) is dict:
            data[name] = {key: value for key, value in data[name].items() if key != "wall_ms"}
    bodies = {name: _without_digest(body) if is_salted(body) else body for name, body in entry.bodies.items()}
    return {"kind": entry.kind, "data": data, "bodies": bodies}


def is_salted(body: Any) -> bool:
    return type(body) is dict and body.get("salted") is True


def _subject_of(entry: ReadEntry) -> str | None:
    """None for the opening entry: its plan and program are compared separately."""
    if entry.kind == "run.opened":
        return None
    if entry.kind == "answer.given":
        return f"output {text(entry.data, 'output')}"
    return f"task {entry.task}" if entry.task is not None else "run"


def _plan_of(history: RunHistory) -> str | None:
    return text(history.opened.data, "wave_plan") if history.opened else None


def _without_digest(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "digest"}


def _mark(entry: ReadEntry) -> bytes:
    encoded = orjson.dumps(comparable(entry), option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(encoded, digest_size=_MARK_BYTES).digest()


def _entry_at(entries: Entries, subject: str, index: int) -> ReadEntry | None:
    seen = 0
    for entry in entries():
        if entry is not None and _subject_of(entry) == subject:
            if seen == index:
                return entry
            seen += 1
    return None


def _first_beyond(entries: Entries, other: _ComparedRun) -> RunDivergence | None:
    """The first entry of a subject for which the other run has no further entry."""
    seen: Counter[str] = Counter()
    for entry in entries():
        subject = _subject_of(entry) if entry is not None else None
        if subject is not None:
            if not other.mark(subject, seen[subject]):
                return RunDivergence(subject, seen[subject], None, entry)
            seen[subject] += 1
    return None
