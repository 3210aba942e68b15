"""Single changes to a ledger's entries; chain, seals, archive and copies are recomputed."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fake_ledger.files import RUN, Body, Entry, Record, canonical, json_body
from fake_ledger.wave_plans import Plan, digest_of, with_digest

_INSERTED = -1
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a record. `words` describes it."""

    words: Callable[[Record], str]
    make: Callable[[Record], Record]


def _entry_name(record: Record, seq: int) -> str:
    return f"entry {seq} (`{record.entries[seq]['kind']}`)"


def _with(record: Record, entries: Sequence[Entry], *bodies: Body) -> Record:
    return replace(record, entries=tuple(entries), bodies={**record.bodies, **{body.digest: body for body in bodies}})


def _with_entry(record: Record, seq: int, entry: Entry, *bodies: Body) -> Record:
    return _with(record, [*record.entries[:seq], entry, *record.entries[seq + 1 :]], *bodies)


def members(seq: int, /, **values: Any) -> Edit:
    """Changes members of the entry."""

    def words(record: Record) -> str:
        return f"{_entry_name(record, seq)}: {_describe(values)}"

    return Edit(words, lambda record: _with_entry(record, seq, {**record.entries[seq], **values}))


def facts(seq: int, /, **values: Any) -> Edit:
    """Changes members of the entry's data; None removes one."""

    def words(record: Record) -> str:
        return f"in the data of {_entry_name(record, seq)}: {_describe(values)}"

    def make(record: Record) -> Record:
        entry = record.entries[seq]
        data = {name: value for name, value in {**entry["data"], **values}.items() if value is not None}
        return _with_entry(record, seq, {**entry, "data": data})

    return Edit(words, make)


def lacking(seq: int, name: str) -> Edit:
    """Removes a member of the entry."""

    def make(record: Record) -> Record:
        return _with_entry(record, seq, {key: value for key, value in record.entries[seq].items() if key != name})

    return Edit(lambda record: f"{_entry_name(record, seq)}: `{name}` is missing", make)


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


def body(seq: int, name: str, given: Body | None) -> Edit:
    """Replaces or removes a body of an entry."""

    def words(record: Record) -> str:
        state = "missing" if given is None else _describe_body(given)
        return f"the body `{name}` of {_entry_name(record, seq)} is {state}"

    def make(record: Record) -> Record:
        entry = record.entries[seq]
        rest = {key: value for key, value in entry["bodies"].items() if key != name}
        if given is None:
            return _with_entry(record, seq, {**entry, "bodies": rest})
        return _with_entry(record, seq, {**entry, "bodies": {**rest, name: given.reference}}, given)

    return Edit(words, make)


def _describe_body(given: Body) -> str:
    text = given.content.decode("ascii", "backslashreplace")
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`" + (", salted" if given.salt else "")


def reference(seq: int, name: str, **values: Any) -> Edit:
    """Changes an entry's reference to a body, but not the body. None removes a member."""

    def words(record: Record) -> str:
        return f"the reference to the body `{name}` in {_entry_name(record, seq)}: {_describe(values)}"

    def make(record: Record) -> Record:
        entry = record.entries[seq]
        named = {**entry["bodies"][name], **values}
        kept = {key: value for key, value in named.items() if value is not None}
        return _with_entry(record, seq, {**entry, "bodies": {**entry["bodies"], name: kept}})

    return Edit(words, make)


def drop(seq: int) -> Edit:
    def make(record: Record) -> Record:
        entries = [
            {**entry, "causes": [cause for cause in entry["causes"] if cause != seq]}
            for index, entry in enumerate(record.entries)
            if index != seq
        ]
        return renumbered(_with(record, entries))

    return Edit(lambda record: f"{_entry_name(record, seq)} is missing", make)


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
    """Inserts an entry; its causes have the numbers from before the insertion."""

    def words(record: Record) -> str:
        about = ", ".join(f"`{name}` {json.dumps(data[name])}" for name in data if name in _SHOWN_FACTS)
        place = f"before {_entry_name(record, before)}" if before < len(record.entries) else "at the end"
        return f"a new `{kind}`{' with ' + about if about else ''} is inserted {place}"

    def make(record: Record) -> Record:
        given = bodies or {}
        entry = {
            "v": 1, "run": RUN, "seq": _INSERTED, "at": record.entries[before - 1]["at"], "actor": "runner",
            "kind": kind, "causes": list(causes), "data": dict(data),
            "bodies": {name: item.reference for name, item in given.items()},
        }  # fmt: skip
        entries = [*record.entries[:before], entry, *record.entries[before:]]
        return renumbered(_with(record, entries, *given.values()))

    return Edit(words, make)


_SHOWN_FACTS = ("task", "attempt", "check", "verdict", "state", "reason", "as", "wave", "output", "from", "to", "agent")


def again(seq: int, before: int, **values: Any) -> Edit:
    """Repeats an entry, with changed facts if they are given."""

    def words(record: Record) -> str:
        after = f", with {_describe(values)}" if values else ""
        return f"{_entry_name(record, seq)} is repeated before {_entry_name(record, before)}{after}"

    def make(record: Record) -> Record:
        entry = record.entries[seq]
        data = {**entry["data"], **values}
        entry = {**entry, "seq": _INSERTED, "at": record.entries[before - 1]["at"], "data": data}
        return renumbered(_with(record, [*record.entries[:before], entry, *record.entries[before:]]))

    return Edit(words, make)


def move(seq: int, before: int) -> Edit:
    """Moves an entry to an earlier position, and drops causes that would then be later."""

    def make(record: Record) -> Record:
        entry = record.entries[seq]
        causes = [cause for cause in entry["causes"] if cause < before]
        moved = {**entry, "at": record.entries[before - 1]["at"], "causes": causes}
        rest = [other for index, other in enumerate(record.entries) if index != seq]
        return renumbered(_with(record, [*rest[:before], moved, *rest[before:]]))

    return Edit(lambda record: f"{_entry_name(record, seq)} is moved before {_entry_name(record, before)}", make)


def renumbered(record: Record) -> Record:
    """Renumbers the entries and their causes."""
    indexes = {entry["seq"]: index for index, entry in enumerate(record.entries)}
    entries = [
        {**entry, "seq": index, "causes": sorted({indexes.get(cause, cause) for cause in entry["causes"]})}
        for index, entry in enumerate(record.entries)
    ]
    return replace(record, entries=tuple(entries))


def plan(words: str, change: Callable[[Plan], object]) -> Edit:
    """Changes the wave plan and recomputes its digest, also in the first entry."""

    def make(record: Record) -> Record:
        opened = record.entries[0]
        document = copy.deepcopy(json.loads(record.bodies[opened["bodies"]["wave_plan"]["digest"]].content))
        change(document)
        document = with_digest(document)
        data = {**opened["data"], "wave_plan": document["digest"], "bundle": digest_of(document["bundle"])}
        whole = json_body(document)
        return _with_entry(record, 0, {**opened, "data": data, "bodies": {"wave_plan": whole.reference}}, whole)

    return Edit(lambda _: f"in the wave plan {words}", make)


def plan_bytes(words: str, change: Callable[[bytes], bytes]) -> Edit:
    """Replaces the wave plan's body; the first entry keeps the plan's digest."""

    def make(record: Record) -> Record:
        opened = record.entries[0]
        whole = Body(change(record.bodies[opened["bodies"]["wave_plan"]["digest"]].content), "application/json")
        return _with_entry(record, 0, {**opened, "bodies": {"wave_plan": whole.reference}}, whole)

    return Edit(lambda _: words, make)


def both(first: Edit, *others: Edit) -> Edit:
    """Several edits as one; the first one's words describe it."""

    def make(record: Record) -> Record:
        for edit in (first, *others):
            record = edit.make(record)
        return record

    return Edit(first.words, make)


def renamed(document: bytes) -> bytes:
    """The wave plan with another name and the same digest."""
    found = json.loads(document)
    found["metadata"]["name"] = "other"
    return canonical(found)
