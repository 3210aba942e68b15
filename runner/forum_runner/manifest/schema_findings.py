"""Turns the schema validator's errors into findings."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs

from forum_runner import resources
from forum_runner.document import Origin, Path
from forum_runner.finding import ManifestFinding
from forum_runner.manifest import pointer
from forum_runner.manifest.suggest import hint_for

BASE_URI = "forum:/v1/"

_Kind = jsonschema_rs.ValidationErrorKind
_TYPE_NAMES = {"object": "a mapping", "array": "a list", "string": "a string", "integer": "a whole number"}
_TYPE_NAMES |= {"number": "a number", "boolean": "true/false", "null": "nothing"}
# A gate needs a question and a foreach needs a limit to be safe, so these missing fields have their own codes.
_SPECIAL_REQUIRED = {
    ("gate", "question"): ("F211", "the gate has no question", "add 'question': what the person must decide"),
    ("foreach", "max"): ("F212", "the foreach has no limit", "add 'max': the maximum number of items"),
}


def forum_schema(uri: str) -> Any:
    """The forum schema with this URI."""
    return resources.schema(uri.removeprefix(BASE_URI).removesuffix(".schema.json"))


def schema_finding(origin: Origin, error: jsonschema_rs.ValidationError) -> ManifestFinding:
    """The finding for one validation error."""
    kind, subject = error.kind, _subject(origin.path)
    details = kind.as_dict()
    match kind:
        case _Kind.Type():
            return _wrong_type(origin, error, subject)
        case _Kind.Required():
            name = details["property"]
            special = _SPECIAL_REQUIRED.get((str(origin.path[-1]) if origin.path else "", name))
            if special:
                return origin.key_finding(*special)
            return origin.key_finding("F203", f"{subject} has no '{name}'")
        case _Kind.Enum() | _Kind.Constant():
            return _not_an_option(origin, error, subject)
        case _Kind.OneOfNotValid() | _Kind.OneOfMultipleValid():
            return _not_exactly_one(origin, error, subject)
        case _Kind.PropertyNames():
            name = details["error"].instance
            hint = _description_hint(resources.schema("types")["$defs"]["name"])
            return origin.at(name).key_finding("F209", f"'{name}' is not a valid name in {subject}", hint)
        case _Kind.Pattern():
            hint = _description_hint(schema_at(error)) or f"it must match {details['pattern']}"
            return origin.finding("F205", f"{subject} has the wrong format", hint)
        case _Kind.Minimum() | _Kind.Maximum() | _Kind.ExclusiveMinimum() | _Kind.ExclusiveMaximum():
            relation = "below" if "inimum" in kind.name else "above"
            return origin.finding("F206", f"{subject} is {error.instance}, {relation} the limit {details['limit']}")
        case _Kind.UniqueItems():
            items: Any = error.instance
            index = _first_duplicate(items)
            return origin.at(index).finding("F210", f"{subject} contains {quoted(items[index])} twice")
        case _:
            return origin.finding("F207", f"{subject} {_size_problem(kind.name, details)}")


def _wrong_type(origin: Origin, error: jsonschema_rs.ValidationError, subject: str) -> ManifestFinding:
    types = error.kind.as_dict()["types"]
    *others, last = (_TYPE_NAMES[name] for name in sorted(types, reverse=True))
    expected = f"{', '.join(others)} or {last}" if others else last
    is_fraction = types == ["integer"] and isinstance(error.instance, float)
    actual = "a fraction" if is_fraction else type_name(error.instance)
    actual = "has no value" if error.instance is None else f"is {actual}"
    return origin.finding("F202", f"{subject} must be {expected}, but {actual}", _syntax_hint(error, types))


def _not_exactly_one(origin: Origin, error: jsonschema_rs.ValidationError, subject: str) -> ManifestFinding:
    names = [branch["required"][0] for branch in schema_at(error)["oneOf"]]
    listed = ", ".join(f"'{name}'" for name in names[:-1]) + f" and '{names[-1]}'"
    present = [name for name in names if isinstance(error.instance, dict) and name in error.instance]
    actual = " and ".join(f"'{name}'" for name in present) or "none"
    return origin.key_finding("F208", f"{subject} must have exactly one of {listed}, but has {actual}")


def _first_duplicate(items: list[Any]) -> int:
    """The index of the first item that repeats an earlier one."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        text = json.dumps(item, sort_keys=True)
        if text in seen:
            return index
        seen.add(text)
    return 0


def _not_an_option(origin: Origin, error: jsonschema_rs.ValidationError, subject: str) -> ManifestFinding:
    details = error.kind.as_dict()
    options = details["options"] if "options" in details else [details["expected_value"]]
    hint = hint_for(str(error.instance), [str(option) for option in options], "one of")
    return origin.finding("F204", f"{subject} cannot be {quoted(error.instance)}", hint)


def _size_problem(keyword: str, details: dict[str, Any]) -> str:
    limit = details.get("limit")
    return {
        "minLength": "is empty" if limit == 1 else f"is shorter than {limit} characters",
        "maxLength": f"is longer than {limit} characters",
        "minItems": "is empty" if limit == 1 else f"has fewer than {limit} items",
        "maxItems": f"has more than {limit} items",
        "minProperties": "is empty" if limit == 1 else f"has fewer than {limit} fields",
    }.get(keyword, f"does not match its schema ({keyword})")


def schema_at(error: jsonschema_rs.ValidationError) -> dict[str, Any]:
    """The schema that contains the failed keyword."""
    uri, _, keyword = (error.absolute_keyword_location or "").partition("#")
    schema: dict[str, Any] = pointer.look_up(forum_schema(uri), keyword.rpartition("/")[0])
    return schema


def _description_hint(schema: dict[str, Any]) -> str | None:
    """The description of a schema as a hint: without a period, and in lower case unless it starts with an acronym.

    None if the schema has no description.
    """
    sentence = str(schema.get("description", "")).removesuffix(".")
    if not sentence:
        return None
    is_word = sentence[1:2].islower() or sentence[1:2] == " "
    return sentence[:1].lower() + sentence[1:] if is_word else sentence


def _syntax_hint(error: jsonschema_rs.ValidationError, types: list[str]) -> str | None:
    """A hint that shows how to write the value; None if there is nothing to add to the message."""
    value = error.instance
    if types == ["boolean"]:
        return "write true or false"
    if types == ["array"] and isinstance(value, str):
        is_plain = re.fullmatch(r"[\w./ -]{1,60}", value) is not None
        return f"write a list: [{', '.join(value.split())}]" if is_plain else "write a list, with one item per line"
    if types == ["object"] and not isinstance(value, dict):
        fields = sorted(schema_at(error).get("properties", {}))
        return f"fields: {', '.join(fields)}" if 0 < len(fields) <= 12 else None
    if "string" not in types or "object" in types or not isinstance(value, int | float):
        return None
    schema = schema_at(error)
    return _description_hint(schema) if "pattern" in schema else "quote it"


def _subject(path: Path) -> str:
    names = [step for step in path if isinstance(step, str)]
    if not path:
        return "the document"
    if isinstance(path[-1], int):
        return f"item {path[-1] + 1} of '{names[-1]}'" if names else f"item {path[-1] + 1}"
    return f"'{path[-1]}'"


def type_name(value: Any) -> str:
    if value is None:
        return "empty"
    names = {bool: "true/false", str: "a string", dict: "a mapping", list: "a list", int: "a number", float: "a number"}
    return names[type(value)]


def quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}...'"
