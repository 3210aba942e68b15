"""Edits followed by recomputing the chain and the checkpoint, and usually roots: detected at levels 1, 2, 3 and 5."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

from forum_conformance.mutation.archive import Member
from forum_conformance.mutation.change import (
    UNKNOWN_DIGEST,
    Change,
    Edit,
    Mutator,
    edit_changes,
    entries_with,
    entry_label,
    files_with,
    files_with_entries,
    renumber,
    with_data,
    with_nondecreasing_times,
    without_data_field,
)
from forum_conformance.mutation.original import Draft, Entry, Original
from forum_conformance.mutation.raw_bytes import OTHER_RUN

FUTURE = "9999-12-31T23:59:59.999999Z"
REASON = b"asked for"


def _edit_every_entry(edit: Edit) -> Mutator:
    return lambda original, _: edit_changes(original, edit)


def _set_field(name: str, value: Any) -> Mutator:
    return _edit_every_entry(lambda entry: {**entry, name: value})


def _set_field_after_first(name: str, value: Any) -> Mutator:
    """Change every entry but the first, which cannot contradict an earlier one."""
    return lambda original, _: (
        Change(entry_label(seq, entry), partial(files_with, original, seq, {**entry, name: value}))
        for seq, entry in enumerate(original.entries)
        if seq > 0
    )


def _remove_field(name: str) -> Mutator:
    return _edit_every_entry(lambda entry: {key: value for key, value in entry.items() if key != name})


def _add_unknown_fact(original: Original, _: Random) -> Iterator[Change]:
    kinds = {entry["kind"] for entry in original.entries if not entry["kind"].startswith("x-")}
    return edit_changes(original, lambda entry: with_data(entry, mood="good"), kinds)


def _add_unknown_body(original: Original, _: Random) -> Iterator[Change]:
    """Refer to an existing body under a name that the kind does not have."""
    if original.members:
        member = original.members[0]
        body = {"digest": member.digest, "bytes": len(member.content), "type": "text/plain"}
        kinds = {entry["kind"] for entry in original.entries if not entry["kind"].startswith("x-")}
        yield from edit_changes(original, lambda entry: {**entry, "bodies": {**entry["bodies"], "other": body}}, kinds)


def _with_itself_as_cause(entry: Entry) -> Entry:
    return {**entry, "causes": [*entry["causes"], entry["seq"]]}


def _change_root(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        if entry["kind"] == "run.sealed":
            entries = entries_with(original, seq, with_data(entry, root=UNKNOWN_DIGEST))
            yield Change(entry_label(seq, entry), partial(original.rewrite, Draft(entries, keeps_roots=True)))


def _seal_again_differently(field: str, original: Original, _: Random) -> Iterator[Change]:
    """Add a seal that differs from the previous one."""
    last = original.entries[-1]
    seal = {**with_data(last, **{field: _change_value(last["data"][field])}), "seq": -1}
    yield Change("after the last seal", partial(files_with_entries, original, [*original.entries, seal]))


def _change_value(value: Any) -> Any:
    if isinstance(value, str):
        return "failed" if value != "failed" else "passed"
    first = min(value)
    return {**value, first: value[first] + 1}


def _keep_roots(original: Original, _: Random) -> Iterator[Change]:
    """Recompute the chain, but not the roots in seals."""
    for seq, entry in enumerate(original.entries[:-1]):
        entries = entries_with(original, seq, {**entry, "actor": "person:mallory"})
        yield Change(entry_label(seq, entry), partial(original.rewrite, Draft(entries, keeps_roots=True)))


def _open_twice(original: Original, _: Random) -> Iterator[Change]:
    for seq in range(1, len(original.entries)):
        entries = [*original.entries[:seq], {**original.entries[0], "seq": -1}, *original.entries[seq:]]
        yield Change(f"before seq {seq}", partial(files_with_entries, original, entries))


def _drop_opening(original: Original, _: Random) -> Iterator[Change]:
    yield Change("seq 0", partial(files_with_entries, original, original.entries[1:]))


def _append_after_seal(kind: str, data: dict[str, Any], original: Original, _: Random) -> Iterator[Change]:
    last = original.entries[-1]
    entry = {**last, "seq": -1, "kind": kind, "data": data, "bodies": {}, "causes": []}
    yield Change(kind, partial(files_with_entries, original, [*original.entries, entry]))


def _swap_with_cause(original: Original, _: Random) -> Iterator[Change]:
    """Record an effect before its cause."""
    for seq, entry in enumerate(original.entries):
        for cause in entry["causes"]:
            entries = list(original.entries)
            entries[seq], entries[cause] = entries[cause], entries[seq]
            yield Change(f"seqs {cause} and {seq}", partial(files_with_entries, original, entries))


def _edit_bodies(edit: Edit, original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        for name, body in sorted(entry["bodies"].items()):
            changed = {**entry, "bodies": {**entry["bodies"], name: edit(body)}}
            draft = Draft(entries_with(original, seq, changed), keeps_archive=True)
            yield Change(f"{entry_label(seq, entry)}, {name}", partial(original.rewrite, draft))


def _toggle_salted(body: Entry) -> Entry:
    if "salted" in body:
        return {key: value for key, value in body.items() if key != "salted"}
    return {**body, "salted": True}


def _edit_redactions(edit: Edit) -> Mutator:
    return lambda original, _: edit_changes(original, edit, ["body.redacted"])


def _drop_redactions(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        if entry["kind"] == "body.redacted":
            entries = [*original.entries[:seq], *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(files_with_entries, original, entries))


def _record_unperformed_redactions(original: Original, _: Random) -> Iterator[Change]:
    """Record bodies as redacted, but keep their members."""
    seal = original.entries[-1]
    reason = Member(f"sha256/{hashlib.sha256(REASON).hexdigest()}", REASON)
    bodies = {"reason": {"digest": reason.digest, "bytes": len(REASON), "type": "text/plain"}}
    for seq, entry in enumerate(original.entries):
        for name, body in sorted(entry["bodies"].items()):
            if body["digest"] not in original.redacted:
                data = {"body": name, "digest": body["digest"]}
                redaction = {
                    **seal,
                    "seq": -1,
                    "kind": "body.redacted",
                    "causes": [seq],
                    "data": data,
                    "bodies": bodies,
                }
                entries = [*original.entries, redaction, {**seal, "seq": -1}]
                draft = Draft(with_nondecreasing_times(renumber(entries)), bodies=[reason])
                yield Change(f"{entry_label(seq, entry)}, {name}", partial(original.rewrite, draft))


def _repeat_redactions(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        if entry["kind"] == "body.redacted":
            entries = [*original.entries[: seq + 1], {**entry, "seq": -1}, *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(files_with_entries, original, entries))


def _refer_to_redacted_bodies(original: Original, _: Random) -> Iterator[Change]:
    bodies = {body["digest"]: body for entry in original.entries for body in entry["bodies"].values()}
    for seq, entry in enumerate(original.entries):
        if entry["kind"] == "body.redacted":
            reference = {
                **entry,
                "seq": -1,
                "kind": "x-again",
                "data": {},
                "bodies": {"it": bodies[entry["data"]["digest"]]},
            }
            entries = [*original.entries[: seq + 1], reference, *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(files_with_entries, original, entries))


def _remove_plan_body(original: Original, _: Random) -> Iterator[Change]:
    opened = original.entries[0]
    if "wave_plan" in opened["bodies"]:
        yield Change("the wave plan's body", partial(files_with, original, 0, {**opened, "bodies": {}}))


def _remove_plan_data(names: tuple[str, ...], original: Original, _: Random) -> Iterator[Change]:
    """Keep the wave plan's body, but remove data about it."""
    opened = original.entries[0]
    if "wave_plan" in opened["bodies"]:
        for name in names:
            opened = without_data_field(opened, name)
        yield Change(" and ".join(names), partial(files_with, original, 0, opened))


KINDS: dict[str, Mutator] = {
    "chained-version-edited": _set_field("v", 2),
    "chained-run-edited": _set_field_after_first("run", OTHER_RUN),
    "chained-seq-edited": _edit_every_entry(lambda entry: {**entry, "seq": entry["seq"] + 1}),
    "chained-time-moved-back": _set_field_after_first("at", "1999-12-31T23:59:59.999999Z"),
    "chained-time-far-ahead": lambda original, _: (
        Change(entry_label(seq, entry), partial(files_with, original, seq, {**entry, "at": FUTURE}))
        for seq, entry in enumerate(original.entries[:-1])
    ),
    "chained-time-malformed": _set_field("at", "2026-11-15T09:00:00Z"),
    "chained-actor-malformed": _set_field("actor", "somebody"),
    "chained-kind-unknown": _set_field("kind", "task.paused"),
    "chained-kind-malformed": _set_field("kind", "X-note"),
    "chained-caused-by-itself": _edit_every_entry(_with_itself_as_cause),
    "chained-causes-out-of-order": _set_field_after_first("causes", [0, 0]),
    "chained-data-of-another-type": _set_field("data", []),
    "chained-field-added": _set_field("note", "x"),
    "chained-field-missing": _remove_field("actor"),
    "chained-unknown-fact": _add_unknown_fact,
    "chained-unknown-body": _add_unknown_body,
    "chained-wrong-root": _change_root,
    "chained-roots-kept": _keep_roots,
    "chained-sealed-again-with-another-status": partial(_seal_again_differently, "status"),
    "chained-sealed-again-with-other-counts": partial(_seal_again_differently, "counts"),
    "chained-sealed-again-with-other-totals": partial(_seal_again_differently, "totals"),
    "chained-plan-body-removed": _remove_plan_body,
    "chained-plan-unnamed": partial(_remove_plan_data, ("wave_plan", "bundle")),
    "chained-bundle-unnamed": partial(_remove_plan_data, ("bundle",)),
    "chained-opened-twice": _open_twice,
    "chained-opening-dropped": _drop_opening,
    "chained-wave-after-the-seal": partial(_append_after_seal, "wave.opened", {"wave": 0}),
    "chained-note-after-the-seal": partial(_append_after_seal, "x-note", {}),
    "chained-swapped-with-its-cause": _swap_with_cause,
    "chained-body-of-another-size": partial(_edit_bodies, lambda body: {**body, "bytes": body["bytes"] + 1}),
    "chained-body-of-another-digest": partial(_edit_bodies, lambda body: {**body, "digest": UNKNOWN_DIGEST}),
    "chained-body-without-salted": partial(_edit_bodies, _toggle_salted),
    "chained-redaction-of-an-unknown-digest": _edit_redactions(lambda entry: with_data(entry, digest=UNKNOWN_DIGEST)),
    "chained-redaction-dropped": _drop_redactions,
    "chained-redaction-not-performed": _record_unperformed_redactions,
    "chained-redacted-twice": _repeat_redactions,
    "chained-redacted-body-referenced-again": _refer_to_redacted_bodies,
}
