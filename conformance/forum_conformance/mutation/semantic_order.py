"""Dropped, repeated, added or moved entries with a recomputed chain and seal: not a valid run (level 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from forum_conformance.mutation.change import Change, Mutator, entry_label, renumbered, with_nondecreasing_times
from forum_conformance.mutation.original import Draft, Entry, Files, Original
from forum_conformance.mutation.units import (
    comes_later,
    has_passed,
    has_started,
    is_task,
    of_kind,
    owes_answers,
    settles,
)

# A later entry always depends on these.
NEEDED = ("task.started", "task.finished", "task.lost", "task.ended", "verdict.asked", "verdict.lost")
# Each of these occurs once, at a fixed position.
ONCE = (
    *NEEDED,
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
WHILE_PAUSED = ("gate.decided", "body.redacted", "run.repaired", "run.resumed")


def written(original: Original, entries: list[Entry]) -> Files:
    return original.rewritten(Draft(with_nondecreasing_times(renumbered(entries))))


def _is_missed(original: Original, seq: int, entry: Entry) -> bool:
    """Whether a later entry depends on this one by a rule of level 4."""
    unit = entry["data"].get("task", "")
    rules: dict[str, Callable[[], bool]] = {
        "edge.delivered": lambda: has_started(original, unit),
        "gate.opened": lambda: comes_later(original, unit, seq, "gate.decided"),
        "gate.decided": lambda: entry["data"]["decision"] == "approved" and has_started(original, unit),
        "route.decided": lambda: has_started(original, unit),
        "escalation.raised": lambda: comes_later(original, unit, seq, "task.started"),
        "task.expanded": lambda: has_passed(original, unit),
        "task.reused": lambda: has_passed(original, unit),
        "answer.given": lambda: owes_answers(original),
        "verdict.given": lambda: _check_is_missed(original, seq, entry),
        "wave.opened": lambda: _wave_is_missed(original, seq, entry),
        "run.resumed": lambda: _ends_a_pause(original, seq),
    }
    return entry["kind"] in NEEDED or (entry["kind"] in rules and rules[entry["kind"]]())


def _check_is_missed(original: Original, seq: int, entry: Entry) -> bool:
    """A check by a command or an agent stays open without it."""
    passed = entry["data"]["verdict"] == "pass"
    return entry["data"]["by"] != "schema" or (passed and settles(original, seq, entry))


def _wave_is_missed(original: Original, seq: int, entry: Entry) -> bool:
    tasks = original.plan["waves"][entry["data"]["wave"]]
    further = any(later["kind"] == "wave.opened" for later in original.entries[seq + 1 :])
    return further or any(has_started(original, task) for task in tasks)


def _ends_a_pause(original: Original, seq: int) -> bool:
    state = [entry["kind"] for entry in original.entries[:seq] if entry["kind"] in ("run.paused", "run.resumed")]
    return state[-1:] == ["run.paused"]


def _dropped(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in of_kind(original, *{entry["kind"] for entry in original.entries}):
        if _is_missed(original, seq, entry):
            entries = [*original.entries[:seq], *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(written, original, entries))


def _repeated(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in of_kind(original, *ONCE):
        entries = [*original.entries[: seq + 1], {**entry, "seq": -1}, *original.entries[seq + 1 :]]
        yield Change(entry_label(seq, entry), partial(written, original, entries))


def _added(original: Original, seq: int, kind: str, data: dict[str, Any]) -> Files:
    """An entry after another one."""
    before = original.entries[seq]
    entry = {**before, "seq": -1, "actor": "runner", "kind": kind, "data": data, "bodies": {}, "causes": []}
    return written(original, [*original.entries[: seq + 1], entry, *original.entries[seq + 1 :]])


def _pause_without_end(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in of_kind(original, *{entry["kind"] for entry in original.entries}):
        later = original.entries[seq + 1]["kind"] if seq + 1 < len(original.entries) else "run.resumed"
        if later not in WHILE_PAUSED and not later.startswith("x-") and not _is_over(original, seq):
            data = {"reason": "interrupted"}
            yield Change(f"after {entry_label(seq, entry)}", partial(_added, original, seq, "run.paused", data))


def _is_over(original: Original, seq: int) -> bool:
    return any(entry["kind"] == "run.sealed" for entry in original.entries[: seq + 1])


def _resumed_inside_a_call(original: Original, _: Random) -> Iterator[Change]:
    """A call that was open at a resume can only be lost, but here it succeeds."""
    ends = {"task.started": "task.finished", "verdict.asked": "verdict.given"}
    for seq, entry in of_kind(original, *ends):
        unit = entry["data"]["task"]
        closings = [
            other["kind"]
            for other in original.entries[seq + 1 :]
            if other["data"].get("task") == unit and other["kind"] in (*ends.values(), "task.lost", "verdict.lost")
        ]
        if closings[:1] == [ends[entry["kind"]]]:
            data = {"implementation": original.entries[0]["data"]["implementation"]}
            yield Change(f"after {entry_label(seq, entry)}", partial(_added, original, seq, "run.resumed", data))


def _ended_too_late(original: Original, _: Random) -> Iterator[Change]:
    """An output is delivered before its task has ended."""
    for seq, entry in of_kind(original, "task.ended"):
        handed_on = [
            place
            for place, later in enumerate(original.entries)
            if later["kind"] == "edge.delivered" and seq in later["causes"]
        ]
        if is_task(original, entry["data"]["task"]) and handed_on:
            place = handed_on[-1] + 1
            moved = [*original.entries[:seq], *original.entries[seq + 1 : place], entry, *original.entries[place:]]
            unlinked = [_without_cause(other, seq) for other in moved]
            yield Change(entry_label(seq, entry), partial(written, original, unlinked))


def _without_cause(entry: Entry, seq: int) -> Entry:
    if seq not in entry["causes"]:
        return entry
    return {**entry, "causes": [cause for cause in entry["causes"] if cause != seq]}


def _cut_and_sealed(original: Original, _: Random) -> Iterator[Change]:
    """In reach if a task has not ended or a passed run lacks an answer; otherwise the rest is a valid run."""
    seal = next(seq for seq, entry in enumerate(original.entries) if entry["kind"] == "run.sealed")
    tasks = set(original.plan.get("tasks", ()))
    for size in range(1, seal):
        ended = {entry["data"].get("task") for entry in original.entries[:size] if entry["kind"] == "task.ended"}
        is_owed = owes_answers(original) and any(
            entry["kind"] == "answer.given" for entry in original.entries[size:seal]
        )
        entries = [*original.entries[:size], original.entries[-1]]
        yield Change(f"after {size} entries", partial(written, original, entries), is_owed or not tasks <= ended)


KINDS: dict[str, Mutator] = {
    "semantic-entry-dropped": _dropped,
    "semantic-entry-repeated": _repeated,
    "semantic-pause-without-resume": _pause_without_end,
    "semantic-resumed-during-a-call": _resumed_inside_a_call,
    "semantic-ended-too-late": _ended_too_late,
    "semantic-truncated-and-sealed": _cut_and_sealed,
}
