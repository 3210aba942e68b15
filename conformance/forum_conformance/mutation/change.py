"""A kind of mutation: a function that finds the places where it can change a directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from forum_conformance.mutation.original import Draft, Entry, Files, Original

UNKNOWN_DIGEST = "0123456789abcdef" * 4


@dataclass(frozen=True, slots=True)
class Change:
    """`in_reach` is false if the result is valid by the specification: a rewritten run with correct hashes."""

    place: str
    make: Callable[[], Files]
    in_reach: bool = True


Maker = Callable[[Original, Random], Iterator[Change]]
Edit = Callable[[Entry], Entry]


def at(seq: int, entry: Entry) -> str:
    return f"seq {seq}, {entry['kind']}"


def with_data(entry: Entry, **facts: Any) -> Entry:
    return {**entry, "data": {**entry["data"], **facts}}


def without_data(entry: Entry, name: str) -> Entry:
    return {**entry, "data": {key: value for key, value in entry["data"].items() if key != name}}


def replaced(original: Original, seq: int, entry: Entry) -> list[Entry]:
    return [*original.entries[:seq], entry, *original.entries[seq + 1 :]]


def rewrite(original: Original, seq: int, entry: Entry) -> Files:
    return original.rewritten(Draft(replaced(original, seq, entry)))


def edits(original: Original, edit: Edit, kinds: Iterable[str] = (), *, in_reach: bool = True) -> Iterator[Change]:
    """One change for each entry of these kinds (or any): edit it and recompute the chain."""
    wanted = frozenset(kinds)
    for seq, entry in enumerate(original.entries):
        if not wanted or entry["kind"] in wanted:
            yield Change(at(seq, entry), partial(_edited, original, seq, edit), in_reach)


def renumbered(entries: Iterable[Entry]) -> list[Entry]:
    """Reorder entries and renumber them; causes are kept if they still exist."""
    listed = list(entries)
    places = {entry["seq"]: place for place, entry in enumerate(listed)}
    result = []
    for place, entry in enumerate(listed):
        causes = sorted({places[cause] for cause in entry["causes"] if cause in places})
        same = entry["seq"] == place and causes == entry["causes"]
        result.append(entry if same else {**entry, "seq": place, "causes": causes})
    return result


def in_order_of_time(entries: list[Entry]) -> list[Entry]:
    """The same entries, with times that never decrease."""
    result: list[Entry] = []
    for entry in entries:
        early = bool(result) and entry["at"] < result[-1]["at"]
        result.append({**entry, "at": result[-1]["at"]} if early else entry)
    return result


def _edited(original: Original, seq: int, edit: Edit) -> Files:
    return rewrite(original, seq, edit(original.entries[seq]))
