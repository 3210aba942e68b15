"""Facts about each task and instance, to find changes that cannot be valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forum_conformance.mutation.original import Entry, Original

Told = tuple[int, Entry]


def of_kind(original: Original, *kinds: str) -> Iterator[Told]:
    """The entries of some kinds if level 4 can be checked; otherwise none."""
    if original.plan:
        for seq, entry in enumerate(original.entries):
            if entry["kind"] in kinds:
                yield seq, entry


def told_of(original: Original, unit: str) -> list[Told]:
    return [(seq, entry) for seq, entry in enumerate(original.entries) if entry["data"].get("task") == unit]


def task_of(original: Original, unit: str) -> Mapping[str, Any]:
    tasks: Mapping[str, Mapping[str, Any]] = original.plan["tasks"]
    return tasks[unit] if unit in tasks else tasks[unit.rpartition("[")[0]]


def is_task(original: Original, unit: str) -> bool:
    """Whether it is a task of the plan, which a seal counts, not an instance."""
    return bool(original.plan) and unit in original.plan["tasks"]


def owes_answers(original: Original) -> bool:
    """Whether the run passed, so that every answer is required."""
    return bool(original.plan) and original.entries[-1]["data"]["status"] == "passed"


def has_started(original: Original, unit: str) -> bool:
    return any(entry["kind"] in ("task.started", "task.reused") for _, entry in told_of(original, unit))


def comes_later(original: Original, unit: str, seq: int, *kinds: str) -> bool:
    return any(other > seq and entry["kind"] in kinds for other, entry in told_of(original, unit))


def has_passed(original: Original, unit: str) -> bool:
    return any(
        entry["kind"] == "task.ended" and entry["data"]["state"] == "passed" for _, entry in told_of(original, unit)
    )


def is_followed_by_a_check(original: Original, seq: int, entry: Entry) -> bool:
    """Whether another check of the same attempt comes after this one."""
    return any(
        other > seq and later["kind"].startswith("verdict.") and later["data"]["attempt"] == entry["data"]["attempt"]
        for other, later in told_of(original, entry["data"]["task"])
    )


def settles(original: Original, seq: int, entry: Entry) -> bool:
    """Whether the unit passed with this attempt's result, so that all its checks had to pass."""
    unit = entry["data"]["task"]
    return has_passed(original, unit) and not comes_later(original, unit, seq, "task.started")
