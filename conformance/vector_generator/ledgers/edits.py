"""Single changes to a ledger's entries; chain, seals, archive and copies are recomputed."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fake_ledger.files import RUN, Body, Entry, Record, canonical, json_body
from fake_ledger.wave_plans import Plan, digest_of, with_digest

# The seq of a new entry until `renumbered` assigns one.
_INSERTED = -1
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to a record, and its description."""

    describe: Callable[[Record], str]
    apply: Callable[[Record], Record]


def _entry_name(record: Record, seq: int) -> str:
    return f"entry {seq} (`{record.entries[seq]['kind']}`)"


def _with(record: Record, entries: Sequence[Entry], *bodies: Body) -> Record:
    return replace(record, entries=tuple(entries), bodies={**record.bodies, **{body.digest: body for body in bodies}})


def _with_entry(record: Record, seq: int, entry: Entry, *bodies: Body) -> Record:
    return _with(record, [*record.entries[:seq], entry, *record.entries[seq + 1 :]], *bodies)


def members(seq: int, /, **values: Any) -> Edit:
    """Changes members of an entry."""

    def describe(record: Record) -> str:
        return f"{_entry_name(record, seq)}: {_describe(values)}"

    return Edit(describe, lambda record: _with_entry(record, seq, {**record.entries[seq], **values}))


def facts(seq: int, /, **values: Any) -> Edit:
    """Changes members of an entry's data; the value None removes a member."""

    def describe(record: Record) -> str:
        return f"in the data of {_entry_name(record, seq)}: {_describe(values)}"

    def apply(record: Record) -> Record:
        entry = record.entries[seq]
        data = {name: value for name, value in {**entry["data"], **values}.items() if value is not None}
        return _with_entry(record, seq, {**entry, "data": data})

    return Edit(describe, apply)


def remove_member(seq: int, name: str) -> Edit:
    """Removes a member of an entry."""

    def apply(record: Record) -> Record:
        return _with_entry(record, seq, {key: value for key, value in record.entries[seq].items() if key != name})

    return Edit(lambda record: f"{_entry_name(record, seq)}: `{name}` is missing", apply)


def _describe(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"`{name}` is missing" if value is None else f"`{name}` is {_describe_value(value)}"
        for name, value in values.items()
    )


def _describe_value(value: Any) -> str:
    """The value as JSON; if it is long, only its length."""
    text = json.dumps(value)
    if len(text) <= _MAX_SHOWN or not isinstance(value, str | list | dict):
        return text
    kind = {str: "text", list: "list", dict: "object"}[type(value)]
    return f"a {kind} of {len(value):,} {'characters' if isinstance(value, str) else 'members'}"


def body(seq: int, name: str, new: Body | None) -> Edit:
    """Replaces a body of an entry, or removes it if `new` is None."""

    def describe(record: Record) -> str:
        state = "missing" if new is None else _describe_body(new)
        return f"the body `{name}` of {_entry_name(record, seq)} is {state}"

    def apply(record: Record) -> Record:
        entry = record.entries[seq]
        rest = {key: value for key, value in entry["bodies"].items() if key != name}
        if new is None:
            return _with_entry(record, seq, {**entry, "bodies": rest})
        return _with_entry(record, seq, {**entry, "bodies": {**rest, name: new.reference}}, new)

    return Edit(describe, apply)


def _describe_body(new: Body) -> str:
    text = new.content.decode("ascii", "backslashreplace")
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`" + (", salted" if new.salt else "")


def reference(seq: int, name: str, **values: Any) -> Edit:
    """Changes an entry's reference to a body, but not the body. The value None removes a member."""

    def describe(record: Record) -> str:
        return f"the reference to the body `{name}` in {_entry_name(record, seq)}: {_describe(values)}"

    def apply(record: Record) -> Record:
        entry = record.entries[seq]
        named = {**entry["bodies"][name], **values}
        kept = {key: value for key, value in named.items() if value is not None}
        return _with_entry(record, seq, {**entry, "bodies": {**entry["bodies"], name: kept}})

    return Edit(describe, apply)


def drop(seq: int) -> Edit:
    def apply(record: Record) -> Record:
        entries = [
            {**entry, "causes": [cause for cause in entry["causes"] if cause != seq]}
            for index, entry in enumerate(record.entries)
            if index != seq
        ]
        return renumbered(_with(record, entries))

    return Edit(lambda record: f"{_entry_name(record, seq)} is missing", apply)


def cut(size: int) -> Edit:
    """Keeps only the first entries, like a writer that was killed."""
    return Edit(
        lambda record: f"the entries from {_entry_name(record, size)} on are missing",
        lambda record: replace(record, entries=record.entries[:size]),
    )


def insert(
    before: int,
    kind: str,
    data: Mapping[str, Any],
    causes: Sequence[int] = (),
    bodies: Mapping[str, Body] | None = None,
) -> Edit:
    """Inserts an entry. `causes` are seqs before the insertion."""

    def describe(record: Record) -> str:
        shown_facts = ", ".join(f"`{name}` {json.dumps(data[name])}" for name in data if name in _SHOWN_FACTS)
        position = f"before {_entry_name(record, before)}" if before < len(record.entries) else "at the end"
        return f"a new `{kind}`{' with ' + shown_facts if shown_facts else ''} is inserted {position}"

    def apply(record: Record) -> Record:
        new_bodies = bodies or {}
        entry = {
            "v": 1, "run": RUN, "seq": _INSERTED, "at": record.entries[before - 1]["at"], "actor": "runner",
            "kind": kind, "causes": list(causes), "data": dict(data),
            "bodies": {name: item.reference for name, item in new_bodies.items()},
        }  # fmt: skip
        entries = [*record.entries[:before], entry, *record.entries[before:]]
        return renumbered(_with(record, entries, *new_bodies.values()))

    return Edit(describe, apply)


_SHOWN_FACTS = ("task", "attempt", "check", "verdict", "state", "reason", "as", "wave", "output", "from", "to", "agent")


def repeat(seq: int, before: int, **values: Any) -> Edit:
    """Inserts a copy of an entry, in which `values` replace facts."""

    def describe(record: Record) -> str:
        changes = f", with {_describe(values)}" if values else ""
        return f"{_entry_name(record, seq)} is repeated before {_entry_name(record, before)}{changes}"

    def apply(record: Record) -> Record:
        entry = record.entries[seq]
        data = {**entry["data"], **values}
        entry = {**entry, "seq": _INSERTED, "at": record.entries[before - 1]["at"], "data": data}
        return renumbered(_with(record, [*record.entries[:before], entry, *record.entries[before:]]))

    return Edit(describe, apply)


def move(seq: int, before: int) -> Edit:
    """Moves an entry to an earlier position, and drops its causes from that position on."""

    def apply(record: Record) -> Record:
        entry = record.entries[seq]
        causes = [cause for cause in entry["causes"] if cause < before]
        moved = {**entry, "at": record.entries[before - 1]["at"], "causes": causes}
        rest = [other for index, other in enumerate(record.entries) if index != seq]
        return renumbered(_with(record, [*rest[:before], moved, *rest[before:]]))

    return Edit(lambda record: f"{_entry_name(record, seq)} is moved before {_entry_name(record, before)}", apply)


def renumbered(record: Record) -> Record:
    """Renumbers the entries and their causes."""
    indexes = {entry["seq"]: index for index, entry in enumerate(record.entries)}
    entries = [
        {**entry, "seq": index, "causes": sorted({indexes.get(cause, cause) for cause in entry["causes"]})}
        for index, entry in enumerate(record.entries)
    ]
    return replace(record, entries=tuple(entries))


def plan(description: str, change: Callable[[Plan], object]) -> Edit:
    """Changes the wave plan, and recomputes its digest in the plan and in the first entry."""

    def apply(record: Record) -> Record:
        opened = record.entries[0]
        document = copy.deepcopy(json.loads(record.bodies[opened["bodies"]["wave_plan"]["digest"]].content))
        change(document)
        document = with_digest(document)
        data = {**opened["data"], "wave_plan": document["digest"], "bundle": digest_of(document["bundle"])}
        plan_body = json_body(document)
        return _with_entry(record, 0, {**opened, "data": data, "bodies": {"wave_plan": plan_body.reference}}, plan_body)

    return Edit(lambda _: f"in the wave plan {description}", apply)


def plan_bytes(description: str, change: Callable[[bytes], bytes]) -> Edit:
    """Replaces the wave plan's body; the digest of the plan in the first entry is unchanged."""

    def apply(record: Record) -> Record:
        opened = record.entries[0]
        plan_body = Body(change(record.bodies[opened["bodies"]["wave_plan"]["digest"]].content), "application/json")
        return _with_entry(record, 0, {**opened, "bodies": {"wave_plan": plan_body.reference}}, plan_body)

    return Edit(lambda _: description, apply)


def combine(first: Edit, *others: Edit) -> Edit:
    """Several edits as one. Only the first one is described."""

    def apply(record: Record) -> Record:
        for edit in (first, *others):
            record = edit.apply(record)
        return record

    return Edit(first.describe, apply)


def rename_plan(data: bytes) -> bytes:
    """The wave plan with a different name and the old digest."""
    document = json.loads(data)
    document["metadata"]["name"] = "other"
    return canonical(document)
