"""Facts about units (tasks and instances of tasks), to find changes that cannot be valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forum_conformance.mutation.original import Entry, Original

SeqEntry = tuple[int, Entry]
"""The seq of an entry, and the entry."""


def find_entries(original: Original, *kinds: str) -> Iterator[SeqEntry]:
    """The entries of some kinds if level 4 can be checked; otherwise none."""
    if original.plan:
        for seq, entry in enumerate(original.entries):
            if entry["kind"] in kinds:
                yield seq, entry


def unit_entries(original: Original, unit: str) -> list[SeqEntry]:
    return [(seq, entry) for seq, entry in enumerate(original.entries) if entry["data"].get("task") == unit]


def task_of(original: Original, unit: str) -> Mapping[str, Any]:
    tasks: Mapping[str, Mapping[str, Any]] = original.plan["tasks"]
    return tasks[unit] if unit in tasks else tasks[unit.rpartition("[")[0]]


def is_task(original: Original, unit: str) -> bool:
    """Whether the unit is a task of the plan, which a seal counts, and not an instance."""
    return bool(original.plan) and unit in original.plan["tasks"]


def requires_answers(original: Original) -> bool:
    """Whether the run passed, so that every answer is required."""
    return bool(original.plan) and original.entries[-1]["data"]["status"] == "passed"


def has_started(original: Original, unit: str) -> bool:
    return any(entry["kind"] in ("task.started", "task.reused") for _, entry in unit_entries(original, unit))


def has_later_entry(original: Original, unit: str, seq: int, *kinds: str) -> bool:
    return any(other > seq and entry["kind"] in kinds for other, entry in unit_entries(original, unit))


def has_passed(original: Original, unit: str) -> bool:
    return any(
        entry["kind"] == "task.ended" and entry["data"]["state"] == "passed"
        for _, entry in unit_entries(original, unit)
    )


def is_followed_by_a_check(original: Original, seq: int, entry: Entry) -> bool:
    """Whether a later check belongs to the same attempt."""
    return any(
        other > seq and later["kind"].startswith("verdict.") and later["data"]["attempt"] == entry["data"]["attempt"]
        for other, later in unit_entries(original, entry["data"]["task"])
    )


def is_part_of_final_result(original: Original, seq: int, entry: Entry) -> bool:
    """Whether the unit passed with the result of this check's attempt, so that all its checks had to pass."""
    unit = entry["data"]["task"]
    return has_passed(original, unit) and not has_later_entry(original, unit, seq, "task.started")
