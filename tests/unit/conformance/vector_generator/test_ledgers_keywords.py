"""Every keyword of the ledger's schemas has a case that only it refuses, which detects validators that ignore it."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from vector_generator.ledgers import level1_schema, level4_schema
from vector_generator.ledgers.area import cases
from vector_generator.ledgers.row import Row

ROOT = Path(__file__).parents[4]
SCHEMAS = ROOT / "schemas" / "v1"
LEDGER_PAGE = ROOT / "docs" / "spec" / "ledger.md"
BASE = "https://forum.invalid/v1/"
ANNOTATIONS = {"$schema", "$defs", "title", "description", "examples", "default"}
MAPS_OF_SCHEMAS = {"properties", "$defs", "patternProperties"}
NO_SCHEMAS = {"const", "enum", "examples", "required", "dependentRequired", "type", "default"}
# Keywords that choose between branches are kept: without them, no branch or every branch would apply.
BRANCHING = {"if", "oneOf"}
# This keyword rejects nothing: it allows extra members in a plan's metadata, as in `plan-with-user-metadata`.
PERMISSIVE = {"patternProperties"}


def read_schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the schema and all schemas in it."""
    if isinstance(schema, list):
        for member in schema:
            yield from parts(member)
    if isinstance(schema, dict):
        yield schema
        for keyword, value in schema.items():
            if keyword in MAPS_OF_SCHEMAS:
                yield from parts(list(value.values()))
            elif keyword not in NO_SCHEMAS:
                yield from parts(value)


def keywords(schema: Any) -> set[str]:
    return {keyword for part in parts(schema) for keyword in part} - ANNOTATIONS


def wave_plan_keywords() -> set[str]:
    """Include the keywords of the definitions in types.schema.json that the wave plan refers to."""
    definitions = read_schema("types")["$defs"]
    names = re.findall(r'"types\.schema\.json#/\$defs/(\w+)"', json.dumps(read_schema("wave-plan")))
    return keywords([read_schema("wave-plan"), *(definitions[name] for name in names)])


def without(schema: Any, keyword: str) -> Any:
    """Return the schema as a validator that ignores the keyword sees it. `additionalProperties` keeps its meaning."""
    if isinstance(schema, list):
        return [without(member, keyword) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return dict(_members_without(schema, keyword))


def _members_without(schema: Mapping[str, Any], ignored: str) -> Iterator[tuple[str, Any]]:
    for keyword, value in schema.items():
        if keyword == ignored == "properties":
            yield keyword, dict.fromkeys(value, True)
        elif keyword in MAPS_OF_SCHEMAS:
            yield keyword, {name: without(member, ignored) for name, member in value.items()}
        elif keyword != ignored:
            yield keyword, value if keyword in NO_SCHEMAS | BRANCHING else without(value, ignored)


def match(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not re.search(pattern.replace("$", r"\Z"), instance):
        yield ValidationError("does not match")


Validator: Any = validators.extend(Draft202012Validator, {"pattern": match})  # type: ignore[no-untyped-call]


def is_valid(name: str, value: Any, ignored: str | None) -> bool:
    schemas = {file: without(read_schema(file), ignored or "$schema") for file in ("entry", "wave-plan", "types")}
    for schema in schemas.values():
        # With `$schema`, jsonschema would use the validator of that name instead of this one.
        schema.pop("$schema", None)
    registry: Registry[Any] = Registry().with_resources(
        (f"{BASE}{file}.schema.json", DRAFT202012.create_resource(schema)) for file, schema in schemas.items()
    )
    return bool(Validator({"$ref": f"{BASE}{name}.schema.json"}, registry=registry).is_valid(value))


@cache
def files() -> dict[str, Mapping[str, bytes]]:
    return {case.name: case.files for case in cases()}


def bad_entry(row: Row) -> Any:
    assert row.seq is not None
    return json.loads(files()[row.name]["run/ledger.jsonl"].split(b"\n")[row.seq])


def bad_plan(row: Row) -> Any:
    return json.loads(files()[row.name]["run/wave-plan.json"])


def test_every_keyword_of_an_entry_has_a_case() -> None:
    assert set(level1_schema.BY_KEYWORD) == keywords(read_schema("entry"))


def test_every_keyword_of_a_wave_plan_has_a_case() -> None:
    assert set(level4_schema.BY_KEYWORD) == wave_plan_keywords() - PERMISSIVE


@pytest.mark.parametrize("keyword", level1_schema.BY_KEYWORD)
def test_a_bad_entry_is_refused_only_by_its_keyword(keyword: str) -> None:
    entries = [bad_entry(row) for row in level1_schema.BY_KEYWORD[keyword]]

    assert [is_valid("entry", entry, None) for entry in entries] == [False] * len(entries)
    assert any(is_valid("entry", entry, keyword) for entry in entries)


@pytest.mark.parametrize("keyword", level4_schema.BY_KEYWORD)
def test_a_bad_wave_plan_is_refused_only_by_its_keyword(keyword: str) -> None:
    plans = [bad_plan(row) for row in level4_schema.BY_KEYWORD[keyword]]

    assert [is_valid("wave-plan", plan, None) for plan in plans] == [False] * len(plans)
    assert any(is_valid("wave-plan", plan, keyword) for plan in plans)


def test_the_specification_lists_the_keywords() -> None:
    text = LEDGER_PAGE.read_text(encoding="utf-8")
    sentence = re.search(r"The schemas use the keywords (.*?)\.\s", text, re.DOTALL)

    assert sentence is not None
    assert set(re.findall(r"`([^`]+)`", sentence[1])) == keywords(read_schema("entry")) | wave_plan_keywords()
