"""Edits followed by recomputing every later hash, root and checkpoint: detected at levels 1, 2, 3 and 5."""

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
    renumbered,
    with_data,
    with_nondecreasing_times,
    without_data_field,
)
from forum_conformance.mutation.original import Draft, Entry, Files, Original
from forum_conformance.mutation.raw_bytes import OTHER_RUN

FUTURE = "9999-12-31T23:59:59.999999Z"
REASON = b"asked for"


def _every(edit: Edit) -> Mutator:
    return lambda original, _: edit_changes(original, edit)


def _field(name: str, value: Any) -> Mutator:
    return _every(lambda entry: {**entry, name: value})


def _later(name: str, value: Any) -> Mutator:
    """Applies to every entry but the first, which cannot contradict an earlier one."""
    return lambda original, _: (
        Change(entry_label(seq, entry), partial(files_with, original, seq, {**entry, name: value}))
        for seq, entry in enumerate(original.entries)
        if seq > 0
    )


def _without_field(name: str) -> Mutator:
    return _every(lambda entry: {key: value for key, value in entry.items() if key != name})


def _unknown_fact(original: Original, _: Random) -> Iterator[Change]:
    kinds = {entry["kind"] for entry in original.entries if not entry["kind"].startswith("x-")}
    return edit_changes(original, lambda entry: with_data(entry, mood="good"), kinds)


def _unknown_body(original: Original, _: Random) -> Iterator[Change]:
    """An existing body under a name that the kind does not have."""
    if original.members:
        member = original.members[0]
        body = {"digest": member.digest, "bytes": len(member.content), "type": "text/plain"}
        kinds = {entry["kind"] for entry in original.entries if not entry["kind"].startswith("x-")}
        yield from edit_changes(original, lambda entry: {**entry, "bodies": {**entry["bodies"], "other": body}}, kinds)


def _caused_by_itself(entry: Entry) -> Entry:
    return {**entry, "causes": [*entry["causes"], entry["seq"]]}


def _wrong_root(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        if entry["kind"] == "run.sealed":
            entries = entries_with(original, seq, with_data(entry, root=UNKNOWN_DIGEST))
            yield Change(entry_label(seq, entry), partial(original.rewritten, Draft(entries, keeps_roots=True)))


def _sealed_otherwise(part: str, original: Original, _: Random) -> Iterator[Change]:
    """A later seal that differs from the previous one."""
    last = original.entries[-1]
    seal = {**with_data(last, **{part: _otherwise(last["data"][part])}), "seq": -1}
    yield Change("after the last seal", partial(_inserted, original, [*original.entries, seal]))


def _otherwise(told: Any) -> Any:
    if isinstance(told, str):
        return "failed" if told != "failed" else "passed"
    first = min(told)
    return {**told, first: told[first] + 1}


def _kept_roots(original: Original, _: Random) -> Iterator[Change]:
    """The chain is recomputed, the seal is not."""
    for seq, entry in enumerate(original.entries[:-1]):
        entries = entries_with(original, seq, {**entry, "actor": "person:mallory"})
        yield Change(entry_label(seq, entry), partial(original.rewritten, Draft(entries, keeps_roots=True)))


def _opened_twice(original: Original, _: Random) -> Iterator[Change]:
    for seq in range(1, len(original.entries)):
        entries = [*original.entries[:seq], {**original.entries[0], "seq": -1}, *original.entries[seq:]]
        yield Change(f"before seq {seq}", partial(_inserted, original, entries))


def _opening_dropped(original: Original, _: Random) -> Iterator[Change]:
    yield Change("seq 0", partial(_inserted, original, original.entries[1:]))


def _after_the_seal(kind: str, data: dict[str, Any], original: Original, _: Random) -> Iterator[Change]:
    last = original.entries[-1]
    entry = {**last, "seq": -1, "kind": kind, "data": data, "bodies": {}, "causes": []}
    yield Change(kind, partial(_inserted, original, [*original.entries, entry]))


def _inserted(original: Original, entries: list[Entry]) -> Files:
    return original.rewritten(Draft(with_nondecreasing_times(renumbered(entries))))


def _swapped_with_cause(original: Original, _: Random) -> Iterator[Change]:
    """An effect is recorded before its cause."""
    for seq, entry in enumerate(original.entries):
        for cause in entry["causes"]:
            entries = list(original.entries)
            entries[seq], entries[cause] = entries[cause], entries[seq]
            place = f"seqs {cause} and {seq}"
            yield Change(place, partial(_inserted, original, entries))


def _body(edit: Edit, original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        for name, body in sorted(entry["bodies"].items()):
            changed = {**entry, "bodies": {**entry["bodies"], name: edit(body)}}
            draft = Draft(entries_with(original, seq, changed), keeps_archive=True)
            yield Change(f"{entry_label(seq, entry)}, {name}", partial(original.rewritten, draft))


def _without_salted(body: Entry) -> Entry:
    if "salted" in body:
        return {key: value for key, value in body.items() if key != "salted"}
    return {**body, "salted": True}


def _redaction(edit: Edit) -> Mutator:
    return lambda original, _: edit_changes(original, edit, ["body.redacted"])


def _redaction_dropped(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        if entry["kind"] == "body.redacted":
            entries = [*original.entries[:seq], *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(_inserted, original, entries))


def _redaction_not_carried_out(original: Original, _: Random) -> Iterator[Change]:
    """A body is recorded as redacted, but its member is intact."""
    seal = original.entries[-1]
    reason = Member(f"sha256/{hashlib.sha256(REASON).hexdigest()}", REASON)
    bodies = {"reason": {"digest": reason.digest, "bytes": len(REASON), "type": "text/plain"}}
    for seq, entry in enumerate(original.entries):
        for name, body in sorted(entry["bodies"].items()):
            if body["digest"] not in original.redacted:
                data = {"body": name, "digest": body["digest"]}
                told = {**seal, "seq": -1, "kind": "body.redacted", "causes": [seq], "data": data, "bodies": bodies}
                entries = [*original.entries, told, {**seal, "seq": -1}]
                draft = Draft(with_nondecreasing_times(renumbered(entries)), bodies=[reason])
                yield Change(f"{entry_label(seq, entry)}, {name}", partial(original.rewritten, draft))


def _redacted_twice(original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        if entry["kind"] == "body.redacted":
            entries = [*original.entries[: seq + 1], {**entry, "seq": -1}, *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(_inserted, original, entries))


def _redacted_body_named(original: Original, _: Random) -> Iterator[Change]:
    bodies = {body["digest"]: body for entry in original.entries for body in entry["bodies"].values()}
    for seq, entry in enumerate(original.entries):
        if entry["kind"] == "body.redacted":
            named = {
                **entry,
                "seq": -1,
                "kind": "x-again",
                "data": {},
                "bodies": {"it": bodies[entry["data"]["digest"]]},
            }
            entries = [*original.entries[: seq + 1], named, *original.entries[seq + 1 :]]
            yield Change(entry_label(seq, entry), partial(_inserted, original, entries))


def _plan_body_removed(original: Original, _: Random) -> Iterator[Change]:
    opened = original.entries[0]
    if "wave_plan" in opened["bodies"]:
        yield Change("the wave plan's body", partial(files_with, original, 0, {**opened, "bodies": {}}))


def _plan_unnamed(names: tuple[str, ...], original: Original, _: Random) -> Iterator[Change]:
    """The wave plan's body exists, but the data about the plan is missing."""
    opened = original.entries[0]
    if "wave_plan" in opened["bodies"]:
        for name in names:
            opened = without_data_field(opened, name)
        yield Change(" and ".join(names), partial(files_with, original, 0, opened))


KINDS: dict[str, Mutator] = {
    "chained-version-edited": _field("v", 2),
    "chained-run-edited": _later("run", OTHER_RUN),
    "chained-seq-edited": _every(lambda entry: {**entry, "seq": entry["seq"] + 1}),
    "chained-time-moved-back": _later("at", "1999-12-31T23:59:59.999999Z"),
    "chained-time-far-ahead": lambda original, _: (
        Change(entry_label(seq, entry), partial(files_with, original, seq, {**entry, "at": FUTURE}))
        for seq, entry in enumerate(original.entries[:-1])
    ),
    "chained-time-malformed": _field("at", "2026-11-15T09:00:00Z"),
    "chained-actor-malformed": _field("actor", "somebody"),
    "chained-kind-unknown": _field("kind", "task.paused"),
    "chained-kind-malformed": _field("kind", "X-note"),
    "chained-caused-by-itself": _every(_caused_by_itself),
    "chained-causes-out-of-order": _later("causes", [0, 0]),
    "chained-data-of-another-type": _field("data", []),
    "chained-field-added": _field("note", "x"),
    "chained-field-missing": _without_field("actor"),
    "chained-unknown-fact": _unknown_fact,
    "chained-unknown-body": _unknown_body,
    "chained-wrong-root": _wrong_root,
    "chained-roots-kept": _kept_roots,
    "chained-sealed-again-with-another-status": partial(_sealed_otherwise, "status"),
    "chained-sealed-again-with-other-counts": partial(_sealed_otherwise, "counts"),
    "chained-sealed-again-with-other-totals": partial(_sealed_otherwise, "totals"),
    "chained-plan-body-removed": _plan_body_removed,
    "chained-plan-unnamed": partial(_plan_unnamed, ("wave_plan", "bundle")),
    "chained-bundle-unnamed": partial(_plan_unnamed, ("bundle",)),
    "chained-opened-twice": _opened_twice,
    "chained-opening-dropped": _opening_dropped,
    "chained-wave-after-the-seal": partial(_after_the_seal, "wave.opened", {"wave": 0}),
    "chained-note-after-the-seal": partial(_after_the_seal, "x-note", {}),
    "chained-swapped-with-its-cause": _swapped_with_cause,
    "chained-body-of-another-size": partial(_body, lambda body: {**body, "bytes": body["bytes"] + 1}),
    "chained-body-of-another-digest": partial(_body, lambda body: {**body, "digest": UNKNOWN_DIGEST}),
    "chained-body-without-salted": partial(_body, _without_salted),
    "chained-redaction-of-an-unknown-digest": _redaction(lambda entry: with_data(entry, digest=UNKNOWN_DIGEST)),
    "chained-redaction-dropped": _redaction_dropped,
    "chained-redaction-not-performed": _redaction_not_carried_out,
    "chained-redacted-twice": _redacted_twice,
    "chained-redacted-body-referenced-again": _redacted_body_named,
}
