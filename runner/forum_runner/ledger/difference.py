"""Where two runs part: their entries, compared story by story.

A story is what is told of one task, in order; answers and the run as a whole have stories too. Tasks that run side by
side are told in an order of their own in every run, so entries are compared within a story and never across.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from forum_runner.ledger.read_entry import ReadEntry, text
from forum_runner.ledger.summary import Summary

Entries = Callable[[], Iterator[ReadEntry | None]]

_MARK_BYTES = 16
# What follows from the moment, the run or a salt, and would differ between two runs that did the same.
_LEFT_OUT = {
    "run.sealed": ("root",),
    "run.repaired": ("torn",),
    "gate.opened": ("deadline",),
    "gate.decided": ("shown",),
    "task.reused": ("run", "seq"),
    "body.redacted": ("digest",),
}


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first entry without its like in the other run, and what the other one has at that place, if anything."""

    story: str
    place: int
    left: ReadEntry | None
    right: ReadEntry | None


@dataclass(frozen=True, slots=True)
class Difference:
    """`salted` is the number of salted bodies: their digests differ in every run, and say nothing."""

    left: Summary
    right: Summary
    divergence: Divergence | None
    salted: int

    @property
    def has_one_plan(self) -> bool:
        return plan_of(self.left) == plan_of(self.right)

    @property
    def is_none(self) -> bool:
        return self.has_one_plan and self.divergence is None and not self.left.unreadable and not self.right.unreadable


@dataclass(slots=True)
class _Stories:
    """Of every entry of every story a mark: equal marks, equal entries."""

    summary: Summary = field(default_factory=Summary)
    marks: dict[str, bytearray] = field(default_factory=dict)
    salted: int = 0

    def add(self, entry: ReadEntry | None, number: int) -> tuple[str, int] | None:
        """Takes an entry in, and says where it stands: in which story, at which place."""
        if entry is None:
            self.summary.add_unreadable(number)
            return None
        self.summary.add(entry)
        self.salted += sum(is_salted(body) for body in entry.bodies.values())
        story = story_of(entry)
        if story is None:
            return None
        marks = self.marks.setdefault(story, bytearray())
        marks += _mark(entry)
        return story, len(marks) // _MARK_BYTES - 1

    def mark(self, story: str, place: int) -> bytes:
        return bytes(self.marks.get(story, b"")[place * _MARK_BYTES : (place + 1) * _MARK_BYTES])


def compare(left: Entries, right: Entries) -> Difference:
    """Both are read from the beginning, and the right one again if its entry at the divergence is to be shown."""
    theirs = _Stories()
    for number, entry in enumerate(right()):
        theirs.add(entry, number)
    ours = _Stories()
    parting: tuple[str, int, ReadEntry] | None = None
    for number, entry in enumerate(left()):
        where = ours.add(entry, number)
        if parting is None and where is not None and entry is not None and ours.mark(*where) != theirs.mark(*where):
            parting = (*where, entry)
    if parting is not None:
        story, place, found = parting
        divergence: Divergence | None = Divergence(story, place, found, _entry_at(right, story, place))
    else:
        divergence = _first_beyond(right, ours)
    return Difference(ours.summary, theirs.summary, divergence, ours.salted + theirs.salted)


def story_of(entry: ReadEntry) -> str | None:
    """The opening is not part of any story: what it says of plan and program is compared apart."""
    if entry.kind == "run.opened":
        return None
    if entry.kind == "answer.given":
        return f"answer {text(entry.data, 'output')}"
    return f"task {entry.task}" if entry.task is not None else "run"


def comparable(entry: ReadEntry) -> dict[str, Any]:
    """What two runs can have in common."""
    data = {name: value for name, value in entry.data.items() if name not in _LEFT_OUT.get(entry.kind, ())}
    for name in ("usage", "totals"):
        if type(data.get(name)) is dict:
            data[name] = {key: value for key, value in data[name].items() if key != "wall_ms"}
    bodies = {name: _without_digest(body) if is_salted(body) else body for name, body in entry.bodies.items()}
    return {"kind": entry.kind, "data": data, "bodies": bodies}


def is_salted(body: Any) -> bool:
    return type(body) is dict and body.get("salted") is True


def plan_of(summary: Summary) -> str | None:
    return text(summary.opened.data, "wave_plan") if summary.opened else None


def _without_digest(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "digest"}


def _mark(entry: ReadEntry) -> bytes:
    told = orjson.dumps(comparable(entry), option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(told, digest_size=_MARK_BYTES).digest()


def _entry_at(entries: Entries, story: str, place: int) -> ReadEntry | None:
    seen = 0
    for entry in entries():
        if entry is not None and story_of(entry) == story:
            if seen == place:
                return entry
            seen += 1
    return None


def _first_beyond(entries: Entries, other: _Stories) -> Divergence | None:
    """The first entry that stands where the other's story has ended."""
    seen: Counter[str] = Counter()
    for entry in entries():
        story = story_of(entry) if entry is not None else None
        if story is not None:
            if not other.mark(story, seen[story]):
                return Divergence(story, seen[story], None, entry)
            seen[story] += 1
    return None
