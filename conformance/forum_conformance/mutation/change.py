"""`Change`, one possible mutation of a run directory, and functions that build changes."""

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
    """One possible mutation. `build` returns the files of the changed run directory.

    `is_detectable` is false if the changed run is valid, such as a consistently rewritten run: no verifier can reject
    it without outside evidence (LEDGER-REACH-001).
    """

    location: str
    build: Callable[[], Files]
    is_detectable: bool = True


Mutator = Callable[[Original, Random], Iterator[Change]]
Edit = Callable[[Entry], Entry]


def entry_label(seq: int, entry: Entry) -> str:
    return f"seq {seq}, {entry['kind']}"


def with_data(entry: Entry, **fields: Any) -> Entry:
    return {**entry, "data": {**entry["data"], **fields}}


def without_data_field(entry: Entry, name: str) -> Entry:
    return {**entry, "data": {key: value for key, value in entry["data"].items() if key != name}}


def entries_with(original: Original, seq: int, entry: Entry) -> list[Entry]:
    return [*original.entries[:seq], entry, *original.entries[seq + 1 :]]


def files_with(original: Original, seq: int, entry: Entry) -> Files:
    """The files of a run with this entry at `seq`; the chain is recomputed."""
    return original.rewrite(Draft(entries_with(original, seq, entry)))


def files_with_entries(original: Original, entries: list[Entry]) -> Files:
    """The files of a run with these entries in this order: numbers, times, chain and seals are recomputed."""
    return original.rewrite(Draft(with_nondecreasing_times(renumber(entries))))


def edit_changes(
    original: Original, edit: Edit, kinds: Iterable[str] = (), *, is_detectable: bool = True
) -> Iterator[Change]:
    """One change per entry of these kinds, or of every kind if none is given; the chain is recomputed."""
    selected = frozenset(kinds)
    for seq, entry in enumerate(original.entries):
        if not selected or entry["kind"] in selected:
            yield Change(entry_label(seq, entry), partial(_files_after_edit, original, seq, edit), is_detectable)


def renumber(entries: Iterable[Entry]) -> list[Entry]:
    """Number the entries in the given order. Causes follow their entries; causes whose entry is gone are dropped."""
    ordered = list(entries)
    indexes = {entry["seq"]: index for index, entry in enumerate(ordered)}
    result = []
    for index, entry in enumerate(ordered):
        causes = sorted({indexes[cause] for cause in entry["causes"] if cause in indexes})
        is_unchanged = entry["seq"] == index and causes == entry["causes"]
        result.append(entry if is_unchanged else {**entry, "seq": index, "causes": causes})
    return result


def with_nondecreasing_times(entries: list[Entry]) -> list[Entry]:
    """The same entries, with times that never decrease."""
    result: list[Entry] = []
    for entry in entries:
        is_early = bool(result) and entry["at"] < result[-1]["at"]
        result.append({**entry, "at": result[-1]["at"]} if is_early else entry)
    return result


def _files_after_edit(original: Original, seq: int, edit: Edit) -> Files:
    return files_with(original, seq, edit(original.entries[seq]))
