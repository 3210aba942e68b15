"""Dropped, repeated, added or moved entries with a recomputed chain and seal: not a valid run (level 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from forum_conformance.mutation.change import Change, Mutator, entry_label, files_with_entries
from forum_conformance.mutation.original import Entry, Files, Original
from forum_conformance.mutation.units import (
    find_entries,
    has_later_entry,
    has_passed,
    has_started,
    is_part_of_final_result,
    is_task,
    requires_answers,
)

# A later entry always depends on entries of these kinds.
REQUIRED_KINDS = ("task.started", "task.finished", "task.lost", "task.ended", "verdict.asked", "verdict.lost")
# Such an entry must not be repeated directly after itself.
SINGLE_KINDS = (
    *REQUIRED_KINDS,
    "wave.opened",
    "route.decided",
    "task.expanded",
    "task.reused",
    "edge.delivered",
    "gate.opened",
    "gate.decided",
    "escalation.raised",
    "answer.given",
    "run.paused",
)
KINDS_WHILE_PAUSED = ("gate.decided", "body.redacted", "run.repaired", "run.resumed")


def _is_required(original: Original, seq: int, entry: Entry) -> bool:
    """Whether a later entry depends on this one by a rule of level 4."""
    unit = entry["data"].get("task", "")
    rules: dict[str, Callable[[], bool]] = {
        "edge.delivered": lambda: has_started(original, unit),
        "gate.opened": lambda: has_later_entry(original, unit, seq, "gate.decided"),
        "gate.decided": lambda: entry["data"]["decision"] == "approved" and has_started(original, unit),
        "route.decided": lambda: has_started(original, unit),
        "escalation.raised": lambda: has_later_entry(original, unit, seq, "task.started"),
        "task.expanded": lambda: has_passed(original, unit),
        "task.reused": lambda: has_passed(original, unit),
        "answer.given": lambda: requires_answers(original),
        "verdict.given": lambda: _is_verdict_required(original, seq, entry),
        "wave.opened": lambda: _is_wave_required(original, seq, entry),
        "run.resumed": lambda: _ends_a_pause(original, seq),
    }
    return entry["kind"] in REQUIRED_KINDS or (entry["kind"] in rules and rules[entry["kind"]]())


def _is_verdict_required(original: Original, seq: int, entry: Entry) -> bool:
    """Whether later entries depend on the verdict. A check by a command or an agent stays open without it."""
    passed = entry["data"]["verdict"] == "pass"
    return entry["data"]["by"] != "schema" or (passed and is_part_of_final_result(original, seq, entry))


def _is_wave_required(original: Original, seq: int, entry: Entry) -> bool:
    tasks = original.plan["waves"][entry["data"]["wave"]]
    has_later_wave = any(later["kind"] == "wave.opened" for later in original.entries[seq + 1 :])
    return has_later_wave or any(has_started(original, task) for task in tasks)


def _ends_a_pause(original: Original, seq: int) -> bool:
    kinds = [entry["kind"] for entry in original.entries[:seq] if entry["kind"] in ("run.paused", "run.resumed")]
    return kinds[-1:] == ["run.paused"]


def _drop_entries(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in find_entries(original, *{entry["kind"] for entry in original.entries}):
        if _is_required(original, seq, entry):
            entries = [*original.entries[:seq], *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(files_with_entries, original, entries))


def _repeat_entries(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in find_entries(original, *SINGLE_KINDS):
        entries = [*original.entries[: seq + 1], {**entry, "seq": -1}, *original.entries[seq + 1 :]]
        yield Change(entry_label(seq, entry), partial(files_with_entries, original, entries))


def _add_entry(original: Original, seq: int, kind: str, data: dict[str, Any]) -> Files:
    """Add an entry after `seq`."""
    before = original.entries[seq]
    entry = {**before, "seq": -1, "actor": "runner", "kind": kind, "data": data, "bodies": {}, "causes": []}
    return files_with_entries(original, [*original.entries[: seq + 1], entry, *original.entries[seq + 1 :]])


def _pause_without_resume(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in find_entries(original, *{entry["kind"] for entry in original.entries}):
        later = original.entries[seq + 1]["kind"] if seq + 1 < len(original.entries) else "run.resumed"
        if later not in KINDS_WHILE_PAUSED and not later.startswith("x-") and not _is_sealed_at(original, seq):
            data = {"reason": "interrupted"}
            yield Change(f"after {entry_label(seq, entry)}", partial(_add_entry, original, seq, "run.paused", data))


def _is_sealed_at(original: Original, seq: int) -> bool:
    return any(entry["kind"] == "run.sealed" for entry in original.entries[: seq + 1])


def _resume_during_call(original: Original, _: Random) -> Iterator[Change]:
    """Resume during a call that succeeds: a call that is open at a resume can only be lost."""
    closing_kind_of = {"task.started": "task.finished", "verdict.asked": "verdict.given"}
    for seq, entry in find_entries(original, *closing_kind_of):
        unit = entry["data"]["task"]
        closing_kinds = [
            other["kind"]
            for other in original.entries[seq + 1 :]
            if other["data"].get("task") == unit
            and other["kind"] in (*closing_kind_of.values(), "task.lost", "verdict.lost")
        ]
        if closing_kinds[:1] == [closing_kind_of[entry["kind"]]]:
            data = {"implementation": original.entries[0]["data"]["implementation"]}
            yield Change(f"after {entry_label(seq, entry)}", partial(_add_entry, original, seq, "run.resumed", data))


def _end_too_late(original: Original, _: Random) -> Iterator[Change]:
    """Move the end of a task behind the deliveries of its output."""
    for seq, entry in find_entries(original, "task.ended"):
        deliveries = [
            index
            for index, later in enumerate(original.entries)
            if later["kind"] == "edge.delivered" and seq in later["causes"]
        ]
        if is_task(original, entry["data"]["task"]) and deliveries:
            index = deliveries[-1] + 1
            moved = [*original.entries[:seq], *original.entries[seq + 1 : index], entry, *original.entries[index:]]
            unlinked = [_without_cause(other, seq) for other in moved]
            yield Change(entry_label(seq, entry), partial(files_with_entries, original, unlinked))


def _without_cause(entry: Entry, seq: int) -> Entry:
    if seq not in entry["causes"]:
        return entry
    return {**entry, "causes": [cause for cause in entry["causes"] if cause != seq]}


def _truncate_and_seal(original: Original, _: Random) -> Iterator[Change]:
    """Drop the end of a run and seal it.

    The result is in reach if a task has not ended or a passed run lacks an answer; otherwise it is a valid run.
    """
    seal = next(seq for seq, entry in enumerate(original.entries) if entry["kind"] == "run.sealed")
    tasks = set(original.plan.get("tasks", ()))
    for size in range(1, seal):
        ended = {entry["data"].get("task") for entry in original.entries[:size] if entry["kind"] == "task.ended"}
        lacks_answer = requires_answers(original) and any(
            entry["kind"] == "answer.given" for entry in original.entries[size:seal]
        )
        entries = [*original.entries[:size], original.entries[-1]]
        yield Change(
            f"after {size} entries", partial(files_with_entries, original, entries), lacks_answer or not tasks <= ended
        )


KINDS: dict[str, Mutator] = {
    "semantic-entry-dropped": _drop_entries,
    "semantic-entry-repeated": _repeat_entries,
    "semantic-pause-without-resume": _pause_without_resume,
    "semantic-resumed-during-a-call": _resume_during_call,
    "semantic-ended-too-late": _end_too_late,
    "semantic-truncated-and-sealed": _truncate_and_seal,
}
