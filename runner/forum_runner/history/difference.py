"""Compares the entries of two runs.

Entries are compared per subject: a task, an output, or the run as a whole. Tasks that run in parallel are recorded in a
different order in every run, so the order across subjects has no meaning.
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
# Facts that depend on the time, the run or a salt, so they differ even if two runs did the same.
_EXCLUDED_FACTS = {
    "run.sealed": ("root",),
    "run.repaired": ("torn",),
    "gate.opened": ("deadline",),
    "gate.decided": ("displayed",),
    "task.reused": ("run", "seq"),
    "body.redacted": ("digest",),
}


@dataclass(frozen=True, slots=True)
class RunDivergence:
    """The first entry of a subject that differs. A side is None if its run has no entry at this index."""

    subject: str
    index: int
    left: ReadEntry | None
    right: ReadEntry | None


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The result of a comparison. `salted` counts salted bodies: their digests always differ, so they are ignored."""

    left: RunHistory
    right: RunHistory
    divergence: RunDivergence | None
    salted: int

    @property
    def has_same_plan(self) -> bool:
        return _plan_of(self.left) == _plan_of(self.right)

    @property
    def is_empty(self) -> bool:
        return self.has_same_plan and self.divergence is None and not self.left.unreadable and not self.right.unreadable


@dataclass(slots=True)
class _ComparedRun:
    """A run to compare, with a short hash (mark) of each entry, by subject: equal marks mean equal entries."""

    history: RunHistory = field(default_factory=RunHistory)
    marks: dict[str, bytearray] = field(default_factory=dict)
    salted: int = 0

    def apply(self, entry: ReadEntry | None, number: int) -> tuple[str, int] | None:
        """Adds an entry, and returns its subject and its index among the entries of the subject."""
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
    """Compares two runs. Reads the right one a second time to find its entry at the divergence."""
    right_run = _ComparedRun()
    for number, entry in enumerate(right()):
        right_run.apply(entry, number)
    left_run = _ComparedRun()
    first: tuple[str, int, ReadEntry] | None = None
    for number, entry in enumerate(left()):
        place = left_run.apply(entry, number)
        if (
            first is None
            and place is not None
            and entry is not None
            and left_run.mark(*place) != right_run.mark(*place)
        ):
            first = (*place, entry)
    if first is not None:
        subject, index, left_entry = first
        divergence: RunDivergence | None = RunDivergence(subject, index, left_entry, _entry_at(right, subject, index))
    else:
        divergence = _first_extra_entry(right, left_run)
    return RunDifference(left_run.history, right_run.history, divergence, left_run.salted + right_run.salted)


def comparable(entry: ReadEntry) -> dict[str, Any]:
    """The facts of an entry that are equal if two runs did the same."""
    data = {name: value for name, value in entry.data.items() if name not in _EXCLUDED_FACTS.get(entry.kind, ())}
    for name in ("usage", "totals"):
        if type(data.get(name)) is dict:
            data[name] = {key: value for key, value in data[name].items() if key != "wall_ms"}
    bodies = {name: _without_digest(body) if is_salted(body) else body for name, body in entry.bodies.items()}
    return {"kind": entry.kind, "data": data, "bodies": bodies}


def is_salted(body: Any) -> bool:
    return type(body) is dict and body.get("salted") is True


def _subject_of(entry: ReadEntry) -> str | None:
    """The subject of an entry; None for the opening entry, whose plan and program are compared separately."""
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
    count = 0
    for entry in entries():
        if entry is not None and _subject_of(entry) == subject:
            if count == index:
                return entry
            count += 1
    return None


def _first_extra_entry(entries: Entries, other: _ComparedRun) -> RunDivergence | None:
    """The first entry of a subject for which the other run has no further entry."""
    counts: Counter[str] = Counter()
    for entry in entries():
        subject = _subject_of(entry) if entry is not None else None
        if subject is not None:
            if not other.mark(subject, counts[subject]):
                return RunDivergence(subject, counts[subject], None, entry)
            counts[subject] += 1
    return None
