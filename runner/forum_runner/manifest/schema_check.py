"""Validates a document against the schema of its kind, and turns violations into findings.

The returned value has the fields that could be read: invalid fields are removed, misspelled fields are renamed, and
invalid list items are replaced with None. Required fields may be missing.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

import jsonschema_rs

from forum_runner.document import Document, Path
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.instance_path import instance_path
from forum_runner.manifest.schema_findings import BASE_URI, forum_schema, quoted, schema_at, schema_finding, type_name
from forum_runner.manifest.suggest import hint_for, suggest

API_VERSIONS = ("forum/v1",)

_NAMED_COLLECTIONS = (("adapters",), ("agents",), ("tasks",), ("inputs",))


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"$ref": f"{BASE_URI}{name}.schema.json"}, retriever=forum_schema)


def check_header(document: Document, kinds: Collection[str]) -> tuple[str | None, list[ManifestFinding]]:
    """The kind of a document (None if it is unknown), and the findings of `apiVersion` and `kind`."""
    origin, value = document.origin(), document.value
    if not isinstance(value, dict):
        return None, [origin.finding("F202", f"a manifest must be a mapping, but this is {type_name(value)}")]
    findings = []
    version, kind = value.get("apiVersion"), value.get("kind")
    if version is None and "apiVersion" in value:
        findings.append(origin.at("apiVersion").finding("F202", "'apiVersion' must be a string, but has no value"))
    elif version is not None and version not in API_VERSIONS:
        known = " and ".join(f"'{v}'" for v in API_VERSIONS)
        message = f"unknown apiVersion {quoted(version)}"
        findings.append(origin.at("apiVersion").finding("F001", message, f"this version of forum supports {known}"))
    if "kind" not in value and (similar := suggest("kind", value)) and value[similar] in kinds:
        # The schema check reports the misspelled key.
        return str(value[similar]), findings
    if kind is None:
        kind_origin = origin.at("kind") if "kind" in value else origin
        findings.append(kind_origin.finding("F203", "the document has no 'kind'", f"one of {', '.join(kinds)}"))
        return None, findings
    if kind not in kinds:
        hint = hint_for(str(kind), kinds, "kinds")
        findings.append(origin.at("kind").finding("F002", f"unknown kind {quoted(kind)}", hint))
        return None, findings
    return str(kind), findings


def check_schema(document: Document, schema_name: str) -> tuple[Any, list[ManifestFinding]]:
    """The valid part of the document's value, and its findings. Several violations in one value may be one finding."""
    errors = list(validator(schema_name).iter_errors(document.value))
    if not errors:
        return document.value, []
    value = copy.deepcopy(document.value)
    findings: list[ManifestFinding] = []
    while removed := _remove_unknown(document, value, errors):
        findings += removed
        errors = list(validator(schema_name).iter_errors(value))
    located = [(instance_path(error, value), error) for error in errors]
    findings += _schema_findings(document, located)
    _remove_invalid(value, located)
    return value, findings


_Kind = jsonschema_rs.ValidationErrorKind
_LocatedError = tuple[Path, jsonschema_rs.ValidationError]


def _remove_unknown(
    document: Document, value: Any, errors: list[jsonschema_rs.ValidationError]
) -> list[ManifestFinding]:
    """Removes or renames unknown fields, removes fields with an empty name, and returns their findings."""
    findings = []
    located = [(instance_path(error, value), error) for error in errors]
    for path, error in located:
        if isinstance(error.kind, _Kind.AdditionalProperties):
            findings += _unknown_fields(document, value, error, path)
        elif isinstance(error.kind, _Kind.PropertyNames) and "" in (parent := _value_at(value, path) or {}):
            # The validator omits empty names from paths, so errors below one would be reported at its parent.
            findings.append(document.origin(*path, "").key_finding("F209", f"'{path[-1]}' contains an empty name"))
            del parent[""]
    return findings


def _unknown_fields(
    document: Document, value: Any, error: jsonschema_rs.ValidationError, path: Path
) -> list[ManifestFinding]:
    parent = _value_at(value, path) or {}
    known = sorted(schema_at(error).get("properties", {}))
    findings = []
    for name in error.kind.as_dict()["unexpected"]:
        if name not in parent:
            continue
        similar = suggest(name, known)
        hint = f"did you mean '{similar}'?" if similar else f"fields: {', '.join(known)}; custom fields start with 'x-'"
        findings.append(document.origin(*path, name).key_finding("F201", f"unknown field '{name}'", hint))
        content = parent.pop(name)
        # A value under `api_key` is probably the key itself, not a variable's name, and must not be repeated.
        if similar is not None and similar not in parent and not similar.endswith("_env"):
            parent[similar] = content
            document.renames[(*path, similar)] = name
    return findings


def _schema_findings(document: Document, errors: Iterable[_LocatedError]) -> list[ManifestFinding]:
    """The findings of validation errors. Of several type or format errors in a value, only the broadest is reported."""
    by_width = sorted(errors, key=lambda located: -len(located[1].kind.as_dict().get("types", ())))
    main_keywords: dict[Path, str] = {}
    for keyword in ("pattern", "type"):
        main_keywords |= {path: keyword for path, error in by_width if error.kind.name == keyword}
    seen: set[tuple[Path, str, str]] = set()
    findings = []
    for path, error in by_width:
        # If the value of a renamed field is invalid, the field probably was a different one.
        if path in document.renames or main_keywords.get(path, error.kind.name) != error.kind.name:
            continue
        finding = schema_finding(document.origin(*path), error)
        subject = finding.message if finding.code in ("F203", "F209") else ""
        if (path, finding.code, subject) not in seen:
            seen.add((path, finding.code, subject))
            findings.append(finding)
    return findings


def _remove_invalid(value: Any, errors: Iterable[_LocatedError]) -> None:
    """Removes invalid fields from the value, and replaces invalid list items with None."""
    for error_path, error in errors:
        path = error_path
        if isinstance(error.kind, _Kind.PropertyNames):
            path = (*error_path, error.kind.as_dict()["error"].instance)
        elif error.kind.name in ("required", "oneOf", "uniqueItems", "minItems", "maxItems", "minProperties"):
            continue
        parent = _value_at(value, path[:-1]) if path else None
        if isinstance(parent, dict) and path[-1] in parent:
            del parent[path[-1]]
            if error.kind.as_dict().get("types") == ["object"] and path[-2:-1] in _NAMED_COLLECTIONS:
                # Keep the name, so that references to it resolve.
                parent[path[-1]] = {}
        elif isinstance(parent, list) and isinstance(path[-1], int):
            parent[path[-1]] = None


def _value_at(value: Any, path: Path) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value
