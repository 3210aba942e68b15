"""Rewritten runs that break no rule: undetectable without a checkpoint (LEDGER-REACH-001)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random

from forum_conformance.mutation.change import (
    UNKNOWN_DIGEST,
    Change,
    Edit,
    Mutator,
    edit_changes,
    entry_label,
    with_data,
)
from forum_conformance.mutation.original import Draft, Entry, Files, Original
from forum_conformance.mutation.raw_bytes import OTHER_RUN
from forum_conformance.mutation.semantic_order import written
from forum_conformance.mutation.units import owes_answers

IDLE = ("context.cut", "budget.exceeded", "budget.stopped", "run.repaired")


def _everywhere(edit: Edit, original: Original, _: Random) -> Iterator[Change]:
    entries = [edit(entry) for entry in original.entries]
    yield Change("every entry", partial(original.rewritten, Draft(entries)), in_reach=False)


def _one_by_one(edit: Edit, *kinds: str) -> Mutator:
    return lambda original, _: edit_changes(original, edit, kinds, in_reach=False)


def _years_later(entry: Entry) -> Entry:
    """Shift by four years, so that every date exists; the order stays."""
    return {**entry, "at": f"{int(entry['at'][:4]) + 4:04}{entry['at'][4:]}"}


def _note_inserted(original: Original, _: Random) -> Iterator[Change]:
    seal = next(seq for seq, entry in enumerate(original.entries) if entry["kind"] == "run.sealed")
    for seq in range(1, seal + 1):
        before = original.entries[seq - 1]
        note = {**before, "seq": -1, "kind": "x-note", "data": {}, "bodies": {}, "causes": []}
        entries = [*original.entries[:seq], note, *original.entries[seq:]]
        yield Change(f"before seq {seq}", partial(written, original, entries), in_reach=False)


def _idle_dropped(original: Original, _: Random) -> Iterator[Change]:
    """Entries that no rule requires."""
    idle = IDLE if owes_answers(original) else (*IDLE, "answer.given")
    for seq, entry in enumerate(original.entries):
        if entry["kind"] in idle or entry["kind"].startswith("x-"):
            entries = [*original.entries[:seq], *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(written, original, entries), in_reach=False)


def _neighbors_swapped(original: Original, _: Random) -> Iterator[Change]:
    """Independent entries of different tasks: usually, not always, another valid order."""
    for seq in range(1, len(original.entries) - 2):
        one, two = original.entries[seq : seq + 2]
        tasks = {one["data"].get("task"), two["data"].get("task")}
        if one["seq"] not in two["causes"] and len(tasks) == 2 and None not in tasks:
            entries = [*original.entries[:seq], two, one, *original.entries[seq + 2 :]]
            yield Change(f"seqs {seq} and {seq + 1}", partial(written, original, entries), in_reach=False)


def _without_answers(original: Original, _: Random) -> Iterator[Change]:
    """Only in a run that did not pass: no rule requires its answers."""
    if not owes_answers(original):
        entries = [entry for entry in original.entries if entry["kind"] != "answer.given"]
        yield Change("every answer", partial(written, original, entries), in_reach=False)


def _prompt_exchanged(original: Original, _: Random) -> Iterator[Change]:
    """No rule defines the content of a prompt: any body is valid."""
    for seq, entry in enumerate(original.entries):
        others = [
            other["bodies"]["prompt"]
            for other in original.entries[:seq]
            if "prompt" in other["bodies"] and other["bodies"]["prompt"]["digest"] not in original.redacted
        ]
        if "prompt" in entry["bodies"] and others:
            changed = {**entry, "bodies": {**entry["bodies"], "prompt": others[-1]}}
            yield Change(entry_label(seq, entry), partial(_exchanged, original, seq, changed), in_reach=False)


def _exchanged(original: Original, seq: int, entry: Entry) -> Files:
    return original.rewritten(Draft([*original.entries[:seq], entry, *original.entries[seq + 1 :]]))


def _seal_without_checkpoint(edit: Callable[[Entry], Entry], original: Original, _: Random) -> Iterator[Change]:
    """No other line covers the last one: only a checkpoint reveals a changed seal."""
    bare = replace(original, files=original.without("checkpoint"))
    entries = [*original.entries[:-1], edit(original.entries[-1])]
    yield Change("the seal", partial(bare.rewritten, Draft(entries)), in_reach=False)


KINDS: dict[str, Mutator] = {
    "rewrite-of-another-run": partial(_everywhere, lambda entry: {**entry, "run": OTHER_RUN}),
    "rewrite-at-another-time": partial(_everywhere, _years_later),
    "rewrite-by-another-actor": _one_by_one(lambda entry: {**entry, "actor": "person:mallory"}),
    "rewrite-with-another-fingerprint": _one_by_one(
        lambda entry: with_data(entry, fingerprint=UNKNOWN_DIGEST), "task.started", "task.reused"
    ),
    "rewrite-with-other-measurements": _one_by_one(
        lambda entry: with_data(entry, measured=not entry["data"]["measured"], exit_status=7), "task.finished"
    ),
    "rewrite-by-another-implementation": _one_by_one(
        lambda entry: with_data(entry, implementation={"name": "other", "version": "9"}), "run.opened", "run.resumed"
    ),
    "rewrite-with-a-note-inserted": _note_inserted,
    "rewrite-without-an-idle-entry": _idle_dropped,
    "rewrite-without-answers": _without_answers,
    "rewrite-with-neighbors-swapped": _neighbors_swapped,
    "rewrite-with-another-prompt": _prompt_exchanged,
    "rewrite-of-the-seal": partial(_seal_without_checkpoint, lambda entry: {**entry, "actor": "person:mallory"}),
}
