"""No pattern, list of values, bound or condition of entry.schema.json can be left out without a case that tells."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from vector_generator.ledgers.area import cases
from vector_generator.ledgers.level1_kinds import PLACES

SCHEMA = json.loads((Path(__file__).parents[4] / "schemas" / "v1" / "entry.schema.json").read_text(encoding="utf-8"))
HELD = frozenset(
    "pattern enum minimum maximum minLength maxLength minItems maxItems maxProperties propertyNames dependentRequired"
    " then else".split()
)
EXACT = {"digest", "run_id", "time"}
"""A text that fits one of these patterns is as long as it may be."""

Place = tuple[str | int, ...]


def places(schema: Any, at: Place = ()) -> Iterator[Place]:
    """Where a keyword stands that is held; what an `if` asks decides, and refuses nothing."""
    if isinstance(schema, list):
        for number, member in enumerate(schema):
            yield from places(member, (*at, number))
    if not isinstance(schema, dict):
        return
    is_map = bool(at) and at[-1] in ("properties", "$defs")
    for key, value in schema.items():
        if not is_map and key in HELD:
            yield (*at, key)
        if is_map or key not in ("if", "enum", "const", "examples", "required", "dependentRequired"):
            yield from places(value, (*at, key))


def at_place(schema: Any, place: Place) -> Any:
    for step in place:
        schema = schema[step]
    return schema


def left_out(place: Place) -> jsonschema_rs.Draft202012Validator:
    changed = copy.deepcopy(SCHEMA)
    del at_place(changed, place[:-1])[place[-1]]
    return jsonschema_rs.Draft202012Validator(changed)


def is_idle(place: Place) -> bool:
    """A number beyond 2^53 - 1 is L103 before it is L105; a mode that neither of two lists has is refused by both."""
    *_, owner, keyword = place
    is_beyond_lines = keyword == "maximum" and at_place(SCHEMA, place) == 2**53 - 1
    return is_beyond_lines or (keyword == "maxLength" and owner in EXACT) or (keyword == "enum" and owner == "mode")


def refused_entries() -> list[Any]:
    return [
        json.loads(case.files["run/ledger.jsonl"].split(b"\n")[seq or 0])
        for case in cases()
        for code, seq in case.found
        if code == "L105"
    ]


def test_every_place_of_a_keyword_has_an_entry_that_it_alone_refuses() -> None:
    entries = refused_entries()

    unseen = [place for place in places(SCHEMA) if not any(map(left_out(place).is_valid, entries))]

    assert [place for place in unseen if not is_idle(place)] == []


def test_every_kind_is_tried_without_a_fact_and_with_one_and_a_body_too_many() -> None:
    kinds = {branch["if"]["properties"]["kind"]["const"] for branch in SCHEMA["allOf"]}
    names = {case.name for case in cases()}
    tried = ("without-a-fact", "with-a-further-fact", "with-a-further-body")

    assert set(PLACES) == kinds
    assert {f"{kind.replace('.', '-')}-{what}" for kind in kinds for what in tried} <= names
