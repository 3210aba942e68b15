"""Rules for every schema that ships."""

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
    """Yield every object in a schema with its path, without examples and other plain values."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            if key not in ("examples", "default", "const", "enum"):
                yield from nodes(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from nodes(item, (*path, str(index)))


def properties() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every described property: the schema's file, the path in it, and the property's schema."""
    for name, schema in SCHEMAS.items():
        for path, node in nodes(schema):
            # Properties in a condition only repeat properties that are described elsewhere.
            is_condition = bool({"if", "then", "else"} & set(path[-3:])) and "type" not in node
            if isinstance(node.get("properties"), dict) and not is_condition:
                for key, item in node["properties"].items():
                    if isinstance(item, dict):
                        yield name, "/".join((*path, key)), item


PROPERTIES = list(properties())


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_json_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_has_a_title_and_a_description(name: str) -> None:
    assert {"$schema", "title", "description"} <= set(SCHEMAS[name])


def test_the_schemas_have_many_properties() -> None:
    assert len(PROPERTIES) > 150


@pytest.mark.parametrize(("name", "path", "schema"), PROPERTIES, ids=[f"{name}:{path}" for name, path, _ in PROPERTIES])
def test_a_property_has_editor_help_and_valid_examples(name: str, path: str, schema: dict[str, Any]) -> None:
    assert {"title", "description", "examples"} <= set(schema)
    assert schema["description"].endswith(".")
    assert schema["examples"]

    reference = {"$ref": f"https://forum.invalid/v1/{name}#/" + "/".join(_location_in_schema(path))}
    validator = jsonschema.Draft202012Validator(reference, registry=registry())
    for example in schema["examples"]:
        validator.validate(example)


def _location_in_schema(path: str) -> list[str]:
    *parents, key = path.split("/")
    return [*parents, "properties", key]


def _is_described_object(node: dict[str, Any]) -> bool:
    """Whether a node describes an object that has properties and may be null."""
    return "properties" in node and node.get("type") in ("object", ["object", "null"])


def _is_closed(node: dict[str, Any]) -> bool:
    """Whether a node allows no other properties, by itself or together with the schemas it refers to."""
    return node.get("additionalProperties") is False or node.get("unevaluatedProperties") is False


@pytest.mark.parametrize("name", SCHEMAS)
def test_objects_are_closed_except_for_user_fields(name: str) -> None:
    open_objects = [
        "/".join(path) for path, node in nodes(SCHEMAS[name]) if _is_described_object(node) and not _is_closed(node)
    ]

    # The unions of manifests and of adapters are closed by their branches. An input is a JSON Schema. A program under
    # test may add fields to its answer.
    allowed = {"manifest": [""], "roster": ["$defs/adapter"], "plan": ["$defs/input"], "conformance-answer": [""]}
    assert open_objects == allowed.get(name.removesuffix(".schema.json"), [])


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_users_may_add_x_fields(name: str) -> None:
    closed = [node for _, node in nodes(SCHEMAS[f"{name}.schema.json"]) if node.get("additionalProperties") is False]

    assert closed
    assert all(node["patternProperties"] == {"^x-": True} for node in closed)


@pytest.mark.parametrize("name", SCHEMAS)
def test_unions_are_distinguished_by_a_required_field(name: str) -> None:
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
                # Python's `$` also matches before a trailing newline. `maxLength` bounds the work.
                assert "maxLength" in node, path


def test_progress_events_and_summaries_cover_every_entry_kind_and_task_state() -> None:
    entry, events = SCHEMAS["entry.schema.json"], SCHEMAS["progress-event.schema.json"]
    kinds, event_kinds = (
        [branch["if"]["properties"]["kind"]["const"] for branch in branches]
        for branches in (entry["allOf"], events["$defs"]["data_by_kind"]["allOf"])
    )
    ends = entry["$defs"]["task.ended"]["properties"]["data"]["properties"]["state"]["enum"]

    assert sorted([*event_kinds, "run.sealed"]) == sorted(kinds)
    assert set(ends) < set(SCHEMAS["run-summary.schema.json"]["$defs"]["state"]["enum"])
