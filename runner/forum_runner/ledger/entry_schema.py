"""JSON Schema validators for entries, one per kind, built on first use."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jsonschema_rs

from forum_runner.ledger.entries import KINDS
from forum_runner.resources import schema


def fits(what: str, text: str) -> bool:
    """Whether a text is a valid `actor` or `kind`, or the `name` or `type` of a body."""
    rule = _text_rules()[what]
    return len(text) <= rule["maxLength"] and re.fullmatch(rule["pattern"], text) is not None


@cache
def _text_rules() -> dict[str, Any]:
    properties, definitions = schema("entry")["properties"], schema("entry")["$defs"]
    return {
        "actor": properties["actor"],
        "kind": properties["kind"],
        "name": properties["bodies"]["propertyNames"],
        "type": definitions["body"]["properties"]["type"],
    }


@cache
def entry_validator(kind: str) -> jsonschema_rs.Draft202012Validator:
    """The validator for entries of a kind. User kinds and unknown kinds have only the rules for all kinds.

    A kind's own rules for `data` and `bodies` are stricter than the common rules and replace them.
    """
    entry = schema("entry")
    kind_rules = entry["$defs"][kind] if kind in KINDS else {}
    common_rules = {key: value for key, value in entry.items() if key != "allOf"}
    properties = {**entry["properties"], **kind_rules.get("properties", {})}
    return jsonschema_rs.Draft202012Validator({**common_rules, **kind_rules, "properties": properties})


def schema_violation(validator: jsonschema_rs.Draft202012Validator, value: Any) -> str | None:
    """The first violation of the schema, with its location; None if the value is valid."""
    for error in validator.iter_errors(value):
        place = "".join(f"/{step}" for step in error.instance_path)
        return f"{place}: {error.message}" if place else str(error.message)
    return None
