"""Every pattern, enum, bound and condition of entry.schema.json has a case that detects its absence."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from vector_generator.ledgers.area import cases
from vector_generator.ledgers.level1_kinds import EXAMPLE_ENTRIES

SCHEMA = json.loads((Path(__file__).parents[4] / "schemas" / "v1" / "entry.schema.json").read_text(encoding="utf-8"))
TESTED_KEYWORDS = frozenset(
    "pattern enum minimum maximum minLength maxLength minItems maxItems maxProperties propertyNames dependentRequired"
    " then else".split()
)
FIXED_LENGTH = {"digest", "run_id", "time"}
"""Definitions whose pattern fixes the length of a text, so that `maxLength` is redundant."""

Place = tuple[str | int, ...]


def places(schema: Any, parent: Place = ()) -> Iterator[Place]:
    """Yield the location of each tested keyword. An `if` only selects a branch and rejects nothing."""
    if isinstance(schema, list):
        for number, member in enumerate(schema):
            yield from places(member, (*parent, number))
    if not isinstance(schema, dict):
        return
    is_map = bool(parent) and parent[-1] in ("properties", "$defs")
    for key, value in schema.items():
        if not is_map and key in TESTED_KEYWORDS:
            yield (*parent, key)
        if is_map or key not in ("if", "enum", "const", "examples", "required", "dependentRequired"):
            yield from places(value, (*parent, key))


def at_place(schema: Any, place: Place) -> Any:
    for step in place:
        schema = schema[step]
    return schema


def validator_without(place: Place) -> jsonschema_rs.Draft202012Validator:
    changed = copy.deepcopy(SCHEMA)
    del at_place(changed, place[:-1])[place[-1]]
    return jsonschema_rs.Draft202012Validator(changed)


def is_redundant(place: Place) -> bool:
    """Numbers above 2^53 - 1 are L103 before L105. Both enums of `mode` refuse a mode that neither lists."""
    *_, owner, keyword = place
    is_line_limit = keyword == "maximum" and at_place(SCHEMA, place) == 2**53 - 1
    return (
        is_line_limit or (keyword == "maxLength" and owner in FIXED_LENGTH) or (keyword == "enum" and owner == "mode")
    )


def refused_entries() -> list[Any]:
    return [
        json.loads(case.files["run/ledger.jsonl"].split(b"\n")[seq or 0])
        for case in cases()
        for code, seq in case.findings
        if code == "L105"
    ]


def test_every_keyword_location_has_an_entry_that_only_it_refuses() -> None:
    entries = refused_entries()

    undetected = [place for place in places(SCHEMA) if not any(map(validator_without(place).is_valid, entries))]

    assert [place for place in undetected if not is_redundant(place)] == []


def test_every_kind_has_cases_with_a_missing_fact_an_extra_fact_and_an_extra_body() -> None:
    kinds = {branch["if"]["properties"]["kind"]["const"] for branch in SCHEMA["allOf"]}
    names = {case.name for case in cases()}
    variants = ("without-a-fact", "with-an-extra-fact", "with-an-extra-body")

    assert set(EXAMPLE_ENTRIES) == kinds
    assert {f"{kind.replace('.', '-')}-{variant}" for kind in kinds for variant in variants} <= names
