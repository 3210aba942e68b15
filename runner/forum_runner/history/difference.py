"""Compares the entries of two runs.

Entries are compared per subject: a task, an output, or the run as a whole. Tasks that run in parallel are recorded in a
different order in every run, so the order across subjects has no meaning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.read_entry import ReadEntry, get_str

# Starts to read the entries of a run. None stands for a line that is not an entry.
EntryReader = Callable[[], Iterator[ReadEntry | None]]

_MARK_BYTES = 16
# Facts that depend on the time, the run or a salt, so they differ even if two runs did the same work.
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
    """The first entry that differs, by its subject and its index among the entries of the subject.

    A side is None if its run has no entry at this index.
    """

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
        left, right = (get_str(run.opened.data, "wave_plan") if run.opened else None for run in (self.left, self.right))
        return left == right

    @property
    def is_empty(self) -> bool:
        return self.has_same_plan and self.divergence is None and not self.left.unreadable and not self.right.unreadable


@dataclass(slots=True)
class _ComparedRun:
    """A run to compare, with a short hash (mark) of each entry, by subject: equal marks mean equal entries."""

    history: RunHistory = field(default_factory=RunHistory)
    marks: dict[str, bytearray] = field(default_factory=dict)
    salted: int = 0

    def read(self, entries: Iterable[ReadEntry | None]) -> Iterator[tuple[str, int, ReadEntry]]:
        """Adds entries. Yields each one with its subject and its index among the entries of the subject."""
        for number, entry in enumerate(entries):
            if entry is None:
                self.history.skip_line(number)
                continue
            self.history.apply(entry)
            self.salted += sum(is_salted(body) for body in entry.bodies.values())
            subject = _subject_of(entry)
            if subject is not None:
                marks = self.marks.setdefault(subject, bytearray())
                marks += _mark(entry)
                yield subject, len(marks) // _MARK_BYTES - 1, entry

    @property
    def entries(self) -> int:
        return sum(map(len, self.marks.values())) // _MARK_BYTES

    def mark(self, subject: str, index: int) -> bytes:
        """The mark of an entry; empty if the run has no entry at this index."""
        return bytes(self.marks.get(subject, b"")[index * _MARK_BYTES : (index + 1) * _MARK_BYTES])


def compare(left: EntryReader, right: EntryReader) -> RunDifference:
    """Compares two runs. Reads the right one a second time to find its entry at the divergence."""
    left_run, right_run = _ComparedRun(), _ComparedRun()
    for _ in right_run.read(right()):
        pass
    divergence: RunDivergence | None = None
    for subject, index, entry in left_run.read(left()):
        if divergence is None and left_run.mark(subject, index) != right_run.mark(subject, index):
            divergence = RunDivergence(subject, index, entry, None)
    # Without a divergence so far, the right run has all entries of the left one, and perhaps more.
    if divergence is not None or right_run.entries > left_run.entries:
        for subject, index, entry in _ComparedRun().read(right()):
            if divergence is None and not left_run.mark(subject, index):
                divergence = RunDivergence(subject, index, None, entry)
                break
            if divergence is not None and (subject, index) == (divergence.subject, divergence.index):
                divergence = replace(divergence, right=entry)
                break
    return RunDifference(left_run.history, right_run.history, divergence, left_run.salted + right_run.salted)


def comparable(entry: ReadEntry) -> dict[str, Any]:
    """The facts of an entry that are equal if two runs did the same work."""
    data = {name: value for name, value in entry.data.items() if name not in _EXCLUDED_FACTS.get(entry.kind, ())}
    for name in ("usage", "totals"):
        if type(data.get(name)) is dict:
            data[name] = {key: value for key, value in data[name].items() if key != "wall_ms"}
    bodies = dict(entry.bodies)
    for name, body in bodies.items():
        if is_salted(body):
            bodies[name] = {key: value for key, value in body.items() if key != "digest"}
    return {"kind": entry.kind, "data": data, "bodies": bodies}


def is_salted(body: Any) -> bool:
    return type(body) is dict and body.get("salted") is True


def _subject_of(entry: ReadEntry) -> str | None:
    """The subject of an entry; None for the opening entry, whose plan and program are compared separately."""
    if entry.kind == "run.opened":
        return None
    if entry.kind == "answer.given":
        return f"output {get_str(entry.data, 'output')}"
    return f"task {entry.task}" if entry.task is not None else "run"


def _mark(entry: ReadEntry) -> bytes:
    encoded = orjson.dumps(comparable(entry), option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(encoded, digest_size=_MARK_BYTES).digest()
