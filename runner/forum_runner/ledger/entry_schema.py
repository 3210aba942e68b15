"""JSON Schema validators for entries, one per kind, built on first use."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema_rs

from forum_runner.ledger.entries import KINDS
from forum_runner.resources import schema


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
