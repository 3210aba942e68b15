"""The entry vocabulary and the schema of entries say the same."""

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
NOTES = ("title", "description", "examples", "default", "$schema", "$defs")
# Rules about several members: a differential test holds that both sides apply the same ones.
RULES = ("if", "then", "else", "allOf", "dependentRequired")


def normal(rule: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema with its references resolved, without notes, and with one spelling for each thing."""
    if "anyOf" in rule:
        (rule,) = [option for option in rule["anyOf"] if option != {"type": "null"}]
    if "$ref" in rule:
        return normal(definitions[rule["$ref"].removeprefix("#/$defs/")], definitions)
    if "enum" in rule or "const" in rule:
        return set(rule.get("enum", [rule.get("const")])) - {None}
    found = {key: value for key, value in rule.items() if key not in (*NOTES, *RULES)}
    if "properties" in found:
        found["properties"] = {name: normal(part, definitions) for name, part in found["properties"].items()}
        found["required"] = set(found.get("required", ()))
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(found.get(key), dict):
            found[key] = normal(found[key], definitions)
    return found


def of_class(cls: Any) -> Any:
    generated = msgspec.json.schema(cls)
    return normal(generated, generated.get("$defs", {}))


def test_the_kinds_are_those_of_the_schema() -> None:
    branches = [branch["if"]["properties"]["kind"]["const"] for branch in SCHEMA["allOf"]]

    assert list(KINDS) == branches


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_of_a_kind_has_the_members_of_its_schema(kind: str) -> None:
    expected = normal(SCHEMA["$defs"][kind]["properties"]["data"], SCHEMA["$defs"])

    assert of_class(KINDS[kind]) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_names_the_bodies_of_its_schema(kind: str) -> None:
    bodies = SCHEMA["$defs"][kind]["properties"]["bodies"]

    assert KINDS[kind].bodies == bodies["properties"].keys()
    assert KINDS[kind].required_bodies == set(bodies.get("required", ()))


def test_the_members_of_an_entry_are_those_of_the_schema() -> None:
    expected = normal(SCHEMA, SCHEMA["$defs"])
    found = of_class(Entry[dict[str, Any]])
    # msgspec leaves out what JSON implies: a key is a string.
    found["properties"]["bodies"]["propertyNames"]["type"] = "string"

    assert found == expected


def values(cls: type[EntryValue] = EntryValue) -> list[type[EntryValue]]:
    return [value for child in cls.__subclasses__() for value in (child, *values(child)) if child is not EntryData]


@pytest.mark.parametrize("value", [*values(), *KINDS.values()])
def test_members_are_in_the_order_in_which_a_line_has_them(value: type[EntryValue]) -> None:
    names = [field.encode_name for field in msgspec.structs.fields(value)]

    assert names == sorted(names)


def test_errors_and_tiers_are_those_of_the_rest_of_the_program() -> None:
    assert list(get_args(CallError)) == [str(kind) for kind in ErrorKind]
    assert list(get_args(TierName)) == [str(tier) for tier in Tier]
