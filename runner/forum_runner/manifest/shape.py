"""Holds a document against the schema of its kind: each departure is one finding, and what is sound is passed on.

The value that comes back may lack fields, but every field that it has is of the right shape: a field that is not
goes, a misspelt one gets its right name, an item of a list that is not becomes None.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import jsonschema_rs

from forum_runner import resources
from forum_runner.document import Document, Origin, Path
from forum_runner.finding import Finding
from forum_runner.manifest import pointer
from forum_runner.manifest.instance_path import instance_path
from forum_runner.manifest.suggest import hint_for, suggest

BASE_URI = "forum:/v1/"
API_VERSIONS = ("forum/v1",)
KINDS = ("Workflow", "Roster", "Policy", "Plan", "Script")

_TYPE_NAMES = {"object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number"}
_TYPE_NAMES |= {"number": "a number", "boolean": "true/false", "null": "nothing"}
_NAMED = (("adapters",), ("agents",), ("tasks",), ("inputs",))
# A gate and a foreach are refused with a reason of their own: both fields are what makes them safe.
_SPECIAL_REQUIRED = {
    ("gate", "question"): ("F211", "the gate asks no question", "give 'question': what the person is to decide"),
    ("foreach", "max"): ("F212", "the foreach has no bound", "give 'max': the longest list that is accepted"),
}


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"$ref": f"{BASE_URI}{name}.schema.json"}, retriever=_retrieve)


def check_header(document: Document) -> tuple[str | None, list[Finding]]:
    """The kind of a document, if it has one that is known."""
    origin, value = document.origin(), document.value
    if not isinstance(value, dict):
        return None, [origin.finding("F202", f"a manifest must be a mapping, and this is {_name_of(value)}")]
    findings = []
    version, kind = value.get("apiVersion"), value.get("kind")
    if version is None and "apiVersion" in value:
        findings.append(origin.at("apiVersion").finding("F202", "'apiVersion' must be text, and this is empty"))
    elif version is not None and version not in API_VERSIONS:
        known = " and ".join(f"'{v}'" for v in API_VERSIONS)
        message = f"apiVersion {_shown(version)} is not known"
        findings.append(origin.at("apiVersion").finding("F001", message, f"this version of forum reads {known}"))
    if "kind" not in value and (similar := suggest("kind", value)) and value[similar] in KINDS:
        # Its key has a finding when the shape is checked.
        return str(value[similar]), findings
    if kind is None:
        at = origin.at("kind") if "kind" in value else origin
        findings.append(at.finding("F203", "the document does not say its 'kind'", f"one of {', '.join(KINDS)}"))
        return None, findings
    if kind not in KINDS:
        hint = hint_for(str(kind), KINDS, "kinds")
        findings.append(origin.at("kind").finding("F002", f"kind {_shown(kind)} is not known", hint))
        return None, findings
    return str(kind), findings


def check_shape(document: Document, schema_name: str) -> tuple[Any, list[Finding]]:
    """The document's value as far as it fits the schema, and a finding for all that does not."""
    errors = list(validator(schema_name).iter_errors(document.value))
    if not errors:
        return document.value, []
    value = copy.deepcopy(document.value)
    findings: list[Finding] = []
    while unknown := [e for e in errors if isinstance(e.kind, _Kind.AdditionalProperties)]:
        paths = [instance_path(error, value) for error in unknown]
        for error, path in zip(unknown, paths, strict=True):
            findings += _unknown_fields(document, value, error, path)
        errors = list(validator(schema_name).iter_errors(value))
    placed = [(instance_path(error, value), error) for error in errors]
    findings += _others(document, placed)
    _prune(value, placed)
    return value, findings


_Kind = jsonschema_rs.ValidationErrorKind
_Placed = tuple[Path, jsonschema_rs.ValidationError]


def _retrieve(uri: str) -> Any:
    return resources.schema(uri.removeprefix(BASE_URI).removesuffix(".schema.json"))


def _unknown_fields(document: Document, value: Any, error: jsonschema_rs.ValidationError, path: Path) -> list[Finding]:
    holder = _at(value, path) or {}
    known = sorted(_schema_at(error).get("properties", {}))
    findings = []
    for name in error.kind.as_dict()["unexpected"]:
        if name not in holder:
            continue
        near = suggest(name, known)
        hint = f"did you mean '{near}'?" if near else f"fields: {', '.join(known)}; your own begin with 'x-'"
        findings.append(document.origin(*path, name).key_finding("F201", f"unknown field '{name}'", hint))
        content = holder.pop(name)
        if near is not None and near not in holder:
            holder[near] = content
            document.renames[(*path, near)] = name
    return findings


def _others(document: Document, errors: Iterable[_Placed]) -> list[Finding]:
    """A value of the wrong type is told once, by the widest expectation that it missed; so is one of a wrong form."""
    by_width = sorted(errors, key=lambda placed: -len(placed[1].kind.as_dict().get("types", ())))
    worst: dict[Path, str] = {}
    for keyword in ("pattern", "type"):
        worst |= {path: keyword for path, error in by_width if error.kind.name == keyword}
    seen: set[tuple[Path, str, str]] = set()
    findings = []
    for path, error in by_width:
        # What does not fit under the name that it was given here was not meant by it.
        if path in document.renames or worst.get(path, error.kind.name) != error.kind.name:
            continue
        finding = _finding(document.origin(*path), error)
        subject = finding.message if finding.code in ("F203", "F209") else ""
        if (path, finding.code, subject) not in seen:
            seen.add((path, finding.code, subject))
            findings.append(finding)
    return findings


def _finding(origin: Origin, error: jsonschema_rs.ValidationError) -> Finding:
    kind, what = error.kind, _subject(origin.path)
    details = kind.as_dict()
    match kind:
        case _Kind.Type():
            *others, last = (_TYPE_NAMES[name] for name in sorted(details["types"], reverse=True))
            expected = f"{', '.join(others)} or {last}" if others else last
            is_fraction = details["types"] == ["integer"] and isinstance(error.instance, float)
            given_type = "a fraction" if is_fraction else _name_of(error.instance)
            message = f"{what} must be {expected}, and this is {given_type}"
            return origin.finding("F202", message, _how_to_write(error, details["types"]))
        case _Kind.Required():
            name = details["property"]
            special = _SPECIAL_REQUIRED.get((str(origin.path[-1]) if origin.path else "", name))
            if special:
                return origin.key_finding(*special)
            return origin.key_finding("F203", f"{what} lacks '{name}'")
        case _Kind.Enum() | _Kind.Constant():
            return _not_a_choice(origin, error, what)
        case _Kind.OneOfNotValid() | _Kind.OneOfMultipleValid():
            names = [branch["required"][0] for branch in _schema_at(error)["oneOf"]]
            listed = ", ".join(f"'{name}'" for name in names[:-1]) + f" and '{names[-1]}'"
            given = [name for name in names if isinstance(error.instance, dict) and name in error.instance]
            found = " and ".join(f"'{name}'" for name in given) or "none"
            return origin.key_finding("F208", f"{what} must have exactly one of {listed}, and has {found}")
        case _Kind.PropertyNames():
            name = details["error"].instance
            form = _description(error, "name")
            return origin.at(name).key_finding("F209", f"'{name}' cannot be a name in {what}", form)
        case _Kind.Pattern():
            hint = _description(error) or f"it must match {details['pattern']}"
            return origin.finding("F205", f"{what} is not of the right form", hint)
        case _Kind.Minimum() | _Kind.Maximum() | _Kind.ExclusiveMinimum() | _Kind.ExclusiveMaximum():
            side = "below" if "inimum" in kind.name else "above"
            return origin.finding("F206", f"{what} is {error.instance}, {side} the limit of {details['limit']}")
        case _Kind.UniqueItems():
            items: Any = error.instance
            index = _second_of_two(items)
            return origin.at(index).finding("F210", f"{what} has {_shown(items[index])} twice")
        case _:
            return origin.finding("F207", f"{what} {_size_problem(kind.name, details)}")


def _second_of_two(items: list[Any]) -> int:
    """The index of the first item that stands earlier in the list too."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        written = json.dumps(item, sort_keys=True)
        if written in seen:
            return index
        seen.add(written)
    return 0


def _not_a_choice(origin: Origin, error: jsonschema_rs.ValidationError, what: str) -> Finding:
    details = error.kind.as_dict()
    options = details["options"] if "options" in details else [details["expected_value"]]
    hint = hint_for(str(error.instance), [str(option) for option in options], "one of")
    return origin.finding("F204", f"{what} cannot be {_shown(error.instance)}", hint)


def _size_problem(keyword: str, details: dict[str, Any]) -> str:
    limit = details.get("limit")
    return {
        "minLength": "is empty" if limit == 1 else f"is shorter than {limit} characters",
        "maxLength": f"is longer than {limit} characters",
        "minItems": "is empty" if limit == 1 else f"has fewer than {limit} items",
        "maxItems": f"has more than {limit} items",
        "minProperties": "is empty" if limit == 1 else f"has fewer than {limit} fields",
    }.get(keyword, f"does not fit its schema ({keyword})")


def _prune(value: Any, errors: Iterable[_Placed]) -> None:
    for found, error in errors:
        path = found
        if isinstance(error.kind, _Kind.PropertyNames):
            path = (*found, error.kind.as_dict()["error"].instance)
        elif error.kind.name in ("required", "oneOf", "uniqueItems", "minItems", "maxItems", "minProperties"):
            continue
        holder = _at(value, path[:-1]) if path else None
        if isinstance(holder, dict) and path[-1] in holder:
            del holder[path[-1]]
            if error.kind.as_dict().get("types") == ["object"] and path[-2:-1] in _NAMED:
                # Whatever it is, the name is given: nothing that refers to it is wrong.
                holder[path[-1]] = {}
        elif isinstance(holder, list) and isinstance(path[-1], int):
            holder[path[-1]] = None


def _at(value: Any, path: Path) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _schema_at(error: jsonschema_rs.ValidationError) -> dict[str, Any]:
    """The schema that holds the keyword which failed."""
    uri, _, keyword = (error.absolute_keyword_location or "").partition("#")
    found: dict[str, Any] = pointer.look_up(_retrieve(uri), keyword.rpartition("/")[0])
    return found


def _description(error: jsonschema_rs.ValidationError, shared_type: str | None = None) -> str | None:
    if shared_type is not None:
        text: str | None = resources.schema("types")["$defs"][shared_type]["description"]
    else:
        text = _schema_at(error).get("description")
    if not text:
        return None
    sentence = text.removesuffix(".")
    is_word = sentence[1:2].islower() or sentence[1:2] == " "
    return sentence[:1].lower() + sentence[1:] if is_word else sentence


def _how_to_write(error: jsonschema_rs.ValidationError, types: list[str]) -> str | None:
    """What to write instead: text of a form has more to it than quotes, and a mapping has its fields."""
    given = error.instance
    if types == ["boolean"]:
        return "write true or false"
    if types == ["array"] and isinstance(given, str):
        return f"write a list: [{_shown(given)[1:-1]}]"
    if types == ["object"] and not isinstance(given, dict):
        fields = sorted(_schema_at(error).get("properties", {}))
        return f"fields: {', '.join(fields)}" if 0 < len(fields) <= 12 else None
    if "string" not in types or "object" in types or not isinstance(given, int | float):
        return None
    return _description(error) if "pattern" in _schema_at(error) else "write it in quotes"


def _subject(path: Path) -> str:
    names = [step for step in path if isinstance(step, str)]
    if not path:
        return "the document"
    if isinstance(path[-1], int):
        return f"item {path[-1] + 1} of '{names[-1]}'" if names else f"item {path[-1] + 1}"
    return f"'{path[-1]}'"


def _name_of(value: Any) -> str:
    if value is None:
        return "empty"
    names = {bool: "true/false", str: "text", dict: "a mapping", list: "a list", int: "a number", float: "a number"}
    return names[type(value)]


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}...'"
