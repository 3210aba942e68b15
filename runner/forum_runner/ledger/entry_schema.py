"""The schemas of entries: one validator a kind, made when it is first needed."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jsonschema_rs

from forum_runner.resources import schema

OWN_PREFIX = "x-"
MAX_BODIES = 100
_AFTER_A_SEAL = frozenset({"body.redacted", "run.repaired", "run.sealed"})


@cache
def kinds() -> frozenset[str]:
    """The closed list of kinds; a user's own begin with `x-`."""
    return frozenset(branch["if"]["properties"]["kind"]["const"] for branch in schema("entry")["allOf"])


def fits(what: str, text: str) -> bool:
    """Whether a text can be an `actor`, a `kind`, the `name` of a body or its `type`, by the schema of an entry."""
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


def may_follow_a_seal(kind: str) -> bool:
    return kind in _AFTER_A_SEAL or kind.startswith(OWN_PREFIX)


@cache
def entry_validator(kind: str) -> jsonschema_rs.Draft202012Validator:
    """For a whole entry of a kind; for one that is not known, or a user's own, what holds for all.

    What a kind says of `data` and `bodies` is narrower than what holds for all, and takes its place: it is quicker.
    """
    entry = schema("entry")
    own = entry["$defs"][kind] if kind in kinds() else {}
    shared = {key: value for key, value in entry.items() if key != "allOf"}
    properties = {**entry["properties"], **own.get("properties", {})}
    return jsonschema_rs.Draft202012Validator({**shared, **own, "properties": properties})


@cache
def parts_validator(kind: str) -> jsonschema_rs.Draft202012Validator:
    """For the `data` and `bodies` of an entry alone: what a writer does not make itself."""
    entry = schema("entry")
    parts = {name: entry["properties"][name] for name in ("data", "bodies")}
    return jsonschema_rs.Draft202012Validator({"properties": parts, "$defs": entry["$defs"], **_own_rules(kind)})


def _own_rules(kind: str) -> dict[str, Any]:
    return {"allOf": [{"$ref": f"#/$defs/{kind}"}]} if kind in kinds() else {}


def departure_from(validator: jsonschema_rs.Draft202012Validator, value: Any) -> str | None:
    """What is wrong with a value, by the first departure from its schema."""
    for error in validator.iter_errors(value):
        place = "".join(f"/{step}" for step in error.instance_path)
        return f"{place or 'the entry'}: {error.message}"
    return None
