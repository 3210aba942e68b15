"""JSON Schema validators of entries, one for each kind, built on first use."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jsonschema_rs

from forum_runner.ledger.entries import KINDS
from forum_runner.resources import schema


def fits(what: str, text: str) -> bool:
    """Whether a text is a valid `actor`, `kind`, `name` of a body or `type` of a body."""
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
    """Validates a whole entry. Unknown kinds and user kinds get the rules that hold for all kinds.

    A kind's own rules for `data` and `bodies` are narrower than the common ones and replace them.
    """
    entry = schema("entry")
    own = entry["$defs"][kind] if kind in KINDS else {}
    shared = {key: value for key, value in entry.items() if key != "allOf"}
    properties = {**entry["properties"], **own.get("properties", {})}
    return jsonschema_rs.Draft202012Validator({**shared, **own, "properties": properties})


@cache
def parts_validator(kind: str) -> jsonschema_rs.Draft202012Validator:
    """Validates `data` and `bodies` only: the parts that come from the caller of a writer."""
    entry = schema("entry")
    parts = {name: entry["properties"][name] for name in ("data", "bodies")}
    return jsonschema_rs.Draft202012Validator({"properties": parts, "$defs": entry["$defs"], **_own_rules(kind)})


def _own_rules(kind: str) -> dict[str, Any]:
    return {"allOf": [{"$ref": f"#/$defs/{kind}"}]} if kind in KINDS else {}


def schema_violation(validator: jsonschema_rs.Draft202012Validator, value: Any) -> str | None:
    """The first violation of the schema, with its location; None if the value is valid."""
    for error in validator.iter_errors(value):
        place = "".join(f"/{step}" for step in error.instance_path)
        return f"{place or 'the entry'}: {error.message}"
    return None
