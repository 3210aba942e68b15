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
    files_with,
    files_with_entries,
    with_data,
)
from forum_conformance.mutation.original import Draft, Entry, Original
from forum_conformance.mutation.raw_bytes import OTHER_RUN
from forum_conformance.mutation.units import requires_answers

OPTIONAL_KINDS = ("context.cut", "budget.exceeded", "budget.stopped", "run.repaired")


def _edit_all_entries(edit: Edit, original: Original, _: Random) -> Iterator[Change]:
    entries = [edit(entry) for entry in original.entries]
    yield Change("every entry", partial(original.rewrite, Draft(entries)), is_detectable=False)


def _edit_each_entry(edit: Edit, *kinds: str) -> Mutator:
    return lambda original, _: edit_changes(original, edit, kinds, is_detectable=False)


def _four_years_later(entry: Entry) -> Entry:
    """Four years, so that February 29 stays a valid date."""
    return {**entry, "at": f"{int(entry['at'][:4]) + 4:04}{entry['at'][4:]}"}


def _insert_notes(original: Original, _: Random) -> Iterator[Change]:
    seal = next(seq for seq, entry in enumerate(original.entries) if entry["kind"] == "run.sealed")
    for seq in range(1, seal + 1):
        before = original.entries[seq - 1]
        note = {**before, "seq": -1, "kind": "x-note", "data": {}, "bodies": {}, "causes": []}
        entries = [*original.entries[:seq], note, *original.entries[seq:]]
        yield Change(f"before seq {seq}", partial(files_with_entries, original, entries), is_detectable=False)


def _drop_optional_entries(original: Original, _: Random) -> Iterator[Change]:
    """Drop entries that no rule requires."""
    optional_kinds = OPTIONAL_KINDS if requires_answers(original) else (*OPTIONAL_KINDS, "answer.given")
    for seq, entry in enumerate(original.entries):
        if entry["kind"] in optional_kinds or entry["kind"].startswith("x-"):
            entries = [*original.entries[:seq], *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(files_with_entries, original, entries), is_detectable=False)


def _swap_neighbors(original: Original, _: Random) -> Iterator[Change]:
    """Swap independent entries of different tasks. The new order is usually valid, but not always."""
    for seq in range(1, len(original.entries) - 2):
        first, second = original.entries[seq : seq + 2]
        tasks = {first["data"].get("task"), second["data"].get("task")}
        if first["seq"] not in second["causes"] and len(tasks) == 2 and None not in tasks:
            entries = [*original.entries[:seq], second, first, *original.entries[seq + 2 :]]
            yield Change(
                f"seqs {seq} and {seq + 1}", partial(files_with_entries, original, entries), is_detectable=False
            )


def _drop_answers(original: Original, _: Random) -> Iterator[Change]:
    """Drop all answers of a run that did not pass: no rule requires them."""
    if not requires_answers(original):
        entries = [entry for entry in original.entries if entry["kind"] != "answer.given"]
        yield Change("every answer", partial(files_with_entries, original, entries), is_detectable=False)


def _replace_prompts(original: Original, _: Random) -> Iterator[Change]:
    """Replace a prompt with an earlier one: no rule defines the content of a prompt, so any body is valid."""
    for seq, entry in enumerate(original.entries):
        earlier_prompts = [
            other["bodies"]["prompt"]
            for other in original.entries[:seq]
            if "prompt" in other["bodies"] and other["bodies"]["prompt"]["digest"] not in original.redacted
        ]
        if "prompt" in entry["bodies"] and earlier_prompts:
            changed = {**entry, "bodies": {**entry["bodies"], "prompt": earlier_prompts[-1]}}
            yield Change(entry_label(seq, entry), partial(files_with, original, seq, changed), is_detectable=False)


def _edit_seal_without_checkpoint(edit: Callable[[Entry], Entry], original: Original, _: Random) -> Iterator[Change]:
    """Change the last seal: no other line covers it, so only a checkpoint reveals the change."""
    bare = replace(original, files=original.without("checkpoint"))
    entries = [*original.entries[:-1], edit(original.entries[-1])]
    yield Change("the seal", partial(bare.rewrite, Draft(entries)), is_detectable=False)


KINDS: dict[str, Mutator] = {
    "rewrite-of-another-run": partial(_edit_all_entries, lambda entry: {**entry, "run": OTHER_RUN}),
    "rewrite-at-another-time": partial(_edit_all_entries, _four_years_later),
    "rewrite-by-another-actor": _edit_each_entry(lambda entry: {**entry, "actor": "person:mallory"}),
    "rewrite-with-another-fingerprint": _edit_each_entry(
        lambda entry: with_data(entry, fingerprint=UNKNOWN_DIGEST), "task.started", "task.reused"
    ),
    "rewrite-with-other-measurements": _edit_each_entry(
        lambda entry: with_data(entry, measured=not entry["data"]["measured"], exit_status=7), "task.finished"
    ),
    "rewrite-by-another-implementation": _edit_each_entry(
        lambda entry: with_data(entry, implementation={"name": "other", "version": "9"}), "run.opened", "run.resumed"
    ),
    "rewrite-with-a-note-inserted": _insert_notes,
    "rewrite-without-an-idle-entry": _drop_optional_entries,
    "rewrite-without-answers": _drop_answers,
    "rewrite-with-neighbors-swapped": _swap_neighbors,
    "rewrite-with-another-prompt": _replace_prompts,
    "rewrite-of-the-seal": partial(_edit_seal_without_checkpoint, lambda entry: {**entry, "actor": "person:mallory"}),
}
