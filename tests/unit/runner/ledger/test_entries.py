"""The entry types and the entry schema define the same vocabulary."""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
import pytest

from forum_adapters.base import ErrorKind
from forum_runner.ledger.entries import KINDS, Entry, EntryData
from forum_runner.ledger.entry_values import CallError, EntryValue, TierName
from forum_runner.model import Tier
from forum_runner.resources import schema

SCHEMA = schema("entry")
ANNOTATIONS = ("title", "description", "examples", "default", "$schema", "$defs")
# Rules about several members: a differential test checks that both sides apply the same ones.
CONDITIONS = ("if", "then", "else", "allOf", "dependentRequired")


def normalize(rule: Any, definitions: Mapping[str, Any]) -> Any:
    """Resolve references, drop annotations, and normalize equivalent spellings."""
    if "anyOf" in rule:
        (rule,) = [option for option in rule["anyOf"] if option != {"type": "null"}]
    if "$ref" in rule:
        return normalize(definitions[rule["$ref"].removeprefix("#/$defs/")], definitions)
    if "enum" in rule or "const" in rule:
        return set(rule.get("enum", [rule.get("const")])) - {None}
    normalized = {key: value for key, value in rule.items() if key not in (*ANNOTATIONS, *CONDITIONS)}
    if "properties" in normalized:
        normalized["properties"] = {
            name: normalize(part, definitions) for name, part in normalized["properties"].items()
        }
        normalized["required"] = set(normalized.get("required", ()))
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(normalized.get(key), dict):
            normalized[key] = normalize(normalized[key], definitions)
    return normalized


def generated_schema(cls: Any) -> Any:
    generated = msgspec.json.schema(cls)
    return normalize(generated, generated.get("$defs", {}))


def test_the_kinds_match_the_schema() -> None:
    branches = [branch["if"]["properties"]["kind"]["const"] for branch in SCHEMA["allOf"]]

    assert list(KINDS) == branches


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_members_of_each_kind_match_the_schema(kind: str) -> None:
    expected = normalize(SCHEMA["$defs"][kind]["properties"]["data"], SCHEMA["$defs"])

    assert generated_schema(KINDS[kind]) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_bodies_of_each_kind_match_the_schema(kind: str) -> None:
    bodies = SCHEMA["$defs"][kind]["properties"]["bodies"]

    assert KINDS[kind].bodies == bodies["properties"].keys()
    assert KINDS[kind].required_bodies == set(bodies.get("required", ()))


def test_the_members_of_an_entry_match_the_schema() -> None:
    expected = normalize(SCHEMA, SCHEMA["$defs"])
    generated = generated_schema(Entry[dict[str, Any]])
    # msgspec omits that a key is a string, because JSON implies it.
    generated["properties"]["bodies"]["propertyNames"]["type"] = "string"

    assert generated == expected


def values(cls: type[EntryValue] = EntryValue) -> list[type[EntryValue]]:
    return [value for child in cls.__subclasses__() for value in (child, *values(child)) if child is not EntryData]


@pytest.mark.parametrize("value", [*values(), *KINDS.values()])
def test_members_are_declared_in_the_order_of_a_canonical_line(value: type[EntryValue]) -> None:
    names = [field.encode_name for field in msgspec.structs.fields(value)]

    assert names == sorted(names)


def test_errors_and_tiers_match_the_enums_of_the_runner() -> None:
    assert list(get_args(CallError)) == [str(kind) for kind in ErrorKind]
    assert list(get_args(TierName)) == [str(tier) for tier in Tier]
