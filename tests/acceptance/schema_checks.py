"""Check documents against their schemas."""

from __future__ import annotations

from typing import Any

import jsonschema
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from acceptance.judge_command import SCHEMAS, schema

_BASE = "https://forum.invalid/v1/"
_REGISTRY: Registry[Any] = Registry().with_resources(
    (_BASE + path.name, DRAFT202012.create_resource(schema(path.name))) for path in SCHEMAS.glob("*.json")
)

Document = dict[str, Any] | list[Any]


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"{_BASE}{name}.schema.json"}, registry=_REGISTRY)


def check_matches_schema(name: str, document: Document) -> None:
    """Assert that a document is valid, and that an extra member would make it invalid."""
    errors = [f"{error.json_path}: {error.message[:300]}" for error in validator(name).iter_errors(document)]
    assert errors == [], document
    if isinstance(document, dict):
        assert not validator(name).is_valid({**document, "surplus": None})
