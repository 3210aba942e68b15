"""What holds for every schema that ships."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT202012

FOLDER = Path(__file__).parents[2] / "schemas" / "v1"
SCHEMAS = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
MANIFESTS = {"workflow", "roster", "policy", "plan", "script"}


def registry() -> Registry[Any]:
    resources = (
        (f"https://forum.invalid/v1/{name}", DRAFT202012.create_resource(schema)) for name, schema in SCHEMAS.items()
    )
    return Registry().with_resources(resources)


def nodes(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every mapping in a schema that is a schema itself; examples and the like are values."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            if key not in ("examples", "default", "const", "enum"):
                yield from nodes(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from nodes(item, (*path, str(index)))


def properties() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every described property: the schema's file, the path in it, the property's own schema."""
    for name, schema in SCHEMAS.items():
        for path, node in nodes(schema):
            # Properties that stand in a condition only repeat what is described where they belong.
            is_condition = bool({"if", "then", "else"} & set(path[-3:])) and "type" not in node
            if isinstance(node.get("properties"), dict) and not is_condition:
                for key, item in node["properties"].items():
                    if isinstance(item, dict):
                        yield name, "/".join((*path, key)), item


ALL = list(properties())


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_json_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_says_what_it_is(name: str) -> None:
    assert {"$schema", "title", "description"} <= set(SCHEMAS[name])


def test_there_are_properties_to_look_at() -> None:
    assert len(ALL) > 150


@pytest.mark.parametrize(("name", "path", "schema"), ALL, ids=[f"{name}:{path}" for name, path, _ in ALL])
def test_a_property_has_help_for_an_editor_and_its_examples_fit(name: str, path: str, schema: dict[str, Any]) -> None:
    assert {"title", "description", "examples"} <= set(schema)
    assert schema["description"].endswith(".")
    assert schema["examples"]

    placed = {"$ref": f"https://forum.invalid/v1/{name}#/" + "/".join(_in_schema(path))}
    validator = jsonschema.Draft202012Validator(placed, registry=registry())
    for example in schema["examples"]:
        validator.validate(example)


def _in_schema(path: str) -> list[str]:
    *holder, key = path.split("/")
    return [*holder, "properties", key]


def _is_described_object(node: dict[str, Any]) -> bool:
    """Also one that may be null in its place."""
    return "properties" in node and node.get("type") in ("object", ["object", "null"])


def _is_closed(node: dict[str, Any]) -> bool:
    """By itself, or with what it refers to."""
    return node.get("additionalProperties") is False or node.get("unevaluatedProperties") is False


@pytest.mark.parametrize("name", SCHEMAS)
def test_objects_are_closed_but_for_the_users_own_fields(name: str) -> None:
    open_objects = [
        "/".join(path) for path, node in nodes(SCHEMAS[name]) if _is_described_object(node) and not _is_closed(node)
    ]

    # The union of manifests and the one of adapters are closed by their branches; an input is a JSON Schema; a program
    # under test may say more than it is asked.
    allowed = {"manifest": [""], "roster": ["$defs/adapter"], "plan": ["$defs/input"], "conformance-answer": [""]}
    assert open_objects == allowed.get(name.removesuffix(".schema.json"), [])


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_users_may_add_fields_of_their_own(name: str) -> None:
    closed = [node for _, node in nodes(SCHEMAS[f"{name}.schema.json"]) if node.get("additionalProperties") is False]

    assert closed
    assert all(node["patternProperties"] == {"^x-": True} for node in closed)


@pytest.mark.parametrize("name", SCHEMAS)
def test_unions_are_told_apart_by_a_field_not_by_trial(name: str) -> None:
    for _, node in nodes(SCHEMAS[name]):
        assert "anyOf" not in node
        for branch in node.get("oneOf", []):
            assert set(branch) == {"required"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_patterns_mean_the_same_in_every_dialect(name: str) -> None:
    for path, node in nodes(SCHEMAS[name]):
        pattern = node.get("pattern")
        if isinstance(pattern, str) and path[-1] != "if":
            assert pattern.startswith("^")
            assert "\\d" not in pattern and "\\w" not in pattern
            if pattern != "^x-":
                assert pattern.endswith("$")
                # Python's `$` also matches before a trailing newline; a length keeps what is compared short.
                assert "maxLength" in node, path


def test_reports_know_every_kind_of_entry_and_every_end_of_a_task() -> None:
    entry, events = SCHEMAS["entry.schema.json"], SCHEMAS["progress-event.schema.json"]
    kinds, told = (
        [branch["if"]["properties"]["kind"]["const"] for branch in branches]
        for branches in (entry["allOf"], events["$defs"]["data_by_kind"]["allOf"])
    )
    ends = entry["$defs"]["task.ended"]["properties"]["data"]["properties"]["state"]["enum"]

    assert sorted([*told, "run.sealed"]) == sorted(kinds)
    assert set(ends) < set(SCHEMAS["run-summary.schema.json"]["$defs"]["state"]["enum"])
