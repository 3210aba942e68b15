"""Checks users' schemas and makes them self-contained, so that the wave plan needs no other file.

`$ref` may refer to a part of the same schema or to a file of the bundle, which is embedded in `$defs` under its path.
"""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

import jsonschema_rs

from forum_runner.canonical import canonical, digest
from forum_runner.document import Document, Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest import pointer
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.instance_path import instance_path
from forum_runner.manifest.schema_keywords import DIALECT, KEYWORDS, UNSUPPORTED_KEYWORDS, subschemas
from forum_runner.manifest.schema_loops import find_endless_reference
from forum_runner.manifest.suggest import hint_for, suggest
from forum_runner.manifest.template import contains_reference
from forum_runner.model import Schema

_FILE = "file:"  # the prefix of embedded files in `$defs`
_UNESCAPED = "/$~:"  # the characters of a JSON Pointer that are not percent-encoded
_POINTER = re.compile(r"(/[^#]*)?")
_TYPES = "array boolean integer null number object string".split()
_OLD_KEYWORDS = {"definitions": "$defs", "additionalItems": "items", "nullable": "type"}


class SchemaReader:
    """Checks schemas, embeds the files that they refer to, and adds problems to the bundle's findings."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._schemas: dict[bytes, Schema] = {}
        self._subschema_ids: dict[int, tuple[Any, set[int]]] = {}

    def read(self, value: Any, origin: Origin) -> Schema | None:
        """The schema with the files that it refers to, or None if it is invalid. Adds its findings to the bundle."""
        key = origin.document.file.encode() + b"\0" + canonical(value)
        if key not in self._schemas:
            schema = self._read(value, origin)
            if schema is None:
                return None
            self._schemas[key] = schema
        return self._schemas[key]

    def _read(self, value: Any, origin: Origin) -> Schema | None:
        count_before = len(self._bundle.findings)
        definitions: dict[str, Any] = {}
        root_schema = self._rewrite_references(value, origin, "#", definitions)
        if len(self._bundle.findings) > count_before:
            return None
        if definitions:
            root_schema = {**root_schema, "$defs": {**root_schema.get("$defs", {}), **definitions}}
        if any(not schema.get("$ref", "#").startswith("#") for _, schema in subschemas(root_schema)):
            # The schema refers to an unreadable file. The finding was added when the file was first opened.
            return None
        loop = find_endless_reference(root_schema)
        if loop is not None:
            message = "the schema refers to itself, so validation would never end"
            hint = "put the '$ref' inside 'properties' or 'items'"
            self._bundle.findings.append(origin.at(*loop).finding("F123", message, hint))
            return None
        try:
            jsonschema_rs.Draft202012Validator(root_schema, offline=True)
        except jsonschema_rs.ValidationError as error:
            error_origin = origin.at(*instance_path(error, root_schema))
            self._bundle.findings.append(error_origin.finding("F401", f"invalid JSON Schema: {error.message}"))
            return None
        except (jsonschema_rs.ReferencingError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            self._bundle.findings.append(origin.finding("F401", f"invalid JSON Schema: {reason}"))
            return None
        return Schema(digest(canonical(root_schema)), root_schema)

    def _rewrite_references(self, value: Any, origin: Origin, root: str, definitions: dict[str, Any]) -> Any:
        """Returns a copy of the schema in which each `$ref` points to its new target; an invalid schema is unchanged.

        `root` is the new location of the schema itself. Referenced files are added to `definitions`.
        """
        if not self._is_well_formed(value, origin):
            return value
        rewritten = copy.deepcopy(value)
        targets = [
            (schema, self._resolve_target(schema["$ref"], value, origin.at(*path, "$ref"), root, definitions))
            for path, schema in subschemas(rewritten)
            if "$ref" in schema
        ]
        for schema, target in targets:
            schema["$ref"] = target
        return rewritten

    def _is_well_formed(self, value: Any, origin: Origin) -> bool:
        count_before = len(self._bundle.findings)
        findings = self._bundle.findings
        for path, schema in subschemas(value):
            found = (_keyword_finding(name, content, origin.at(*path, name)) for name, content in schema.items())
            findings += filter(None, found)
        if contains_reference(value):
            message = "a schema cannot contain '${{ ... }}'"
            findings.append(origin.key_finding("F019", message, "write the value, or use a command check"))
        reported = set()
        for error in _metaschema().iter_errors(value):
            error_origin = origin.at(*instance_path(error, value))
            if error_origin.path not in reported:
                reported.add(error_origin.path)
                findings.append(_invalid_schema_finding(error, error_origin))
        return len(findings) == count_before

    def _resolve_target(
        self, ref: str, root_schema: Any, origin: Origin, root: str, definitions: dict[str, Any]
    ) -> str:
        path, _, fragment = ref.partition("#")
        fragment = unquote(fragment)
        if not _POINTER.fullmatch(fragment):
            message = f"$ref '{ref}' does not end with a JSON Pointer"
            self._bundle.findings.append(origin.finding("F405", message, "write '#/$defs/name'"))
            return ref
        if path:
            document = self._open_file(path, origin)
            if document is None:
                return ref
            root_schema = document.value
            root = self._embed(document, definitions)
        try:
            if not self._is_subschema(pointer.look_up(root_schema, fragment), root_schema):
                self._bundle.findings.append(origin.finding("F405", f"$ref '{ref}' does not refer to a schema"))
        except KeyError:
            self._bundle.findings.append(origin.finding("F405", f"$ref '{ref}' has no target"))
        return root + quote(fragment, safe=_UNESCAPED)

    def _is_subschema(self, target: Any, root_schema: Any) -> bool:
        if isinstance(target, bool):
            return True
        if id(root_schema) not in self._subschema_ids:
            # Keep the schema alive, so that its id is not reused.
            self._subschema_ids[id(root_schema)] = (root_schema, {id(schema) for _, schema in subschemas(root_schema)})
        return id(target) in self._subschema_ids[id(root_schema)][1]

    def _open_file(self, path: str, origin: Origin) -> Document | None:
        count_before = len(self._bundle.findings)
        source = self._bundle.open_reference(path, origin)
        # Every reference to something other than a file of the bundle gets the same code.
        for index in range(count_before, len(self._bundle.findings)):
            finding = self._bundle.findings[index]
            if finding.code in ("F120", "F122") and finding.place == origin.place():
                self._bundle.findings[index] = origin.finding("F404", f"$ref {finding.message}", finding.hint)
        return self._bundle.single_document(source, f"'{origin.document.file}' refers to it") if source else None

    def _embed(self, document: Document, definitions: dict[str, Any]) -> str:
        key = f"{_FILE}{document.file}"
        location = f"#/$defs/{quote(pointer.join([key])[1:], safe=_UNESCAPED)}"
        if key not in definitions:
            definitions[key] = True  # a placeholder while the file is read: files may refer to each other
            definitions[key] = self._rewrite_references(document.value, document.origin(), location, definitions)
        return location


def _keyword_finding(keyword: str, value: Any, origin: Origin) -> ManifestFinding | None:
    """The finding for a keyword that is unknown or not supported, or whose value is not; None for any other."""
    if keyword in UNSUPPORTED_KEYWORDS:
        return origin.key_finding("F403", f"'{keyword}' is not supported in schemas", "use '$defs'")
    if keyword == "$defs" and any(str(name).startswith(_FILE) for name in value):
        return origin.key_finding("F403", f"names in '$defs' cannot start with '{_FILE}'")
    if keyword not in KEYWORDS and not keyword.startswith("x-"):
        similar = _OLD_KEYWORDS.get(keyword) or suggest(keyword, KEYWORDS)
        hint = f"did you mean '{similar}'?" if similar else "custom keywords start with 'x-'"
        return origin.key_finding("F402", f"'{keyword}' is not a keyword of JSON Schema", hint)
    if keyword == "$schema" and str(value).rstrip("#") != DIALECT:
        return origin.finding("F403", "only JSON Schema 2020-12 is supported", f"write {DIALECT}")
    return None


def _invalid_schema_finding(error: jsonschema_rs.ValidationError, origin: Origin) -> ManifestFinding:
    if origin.path[-1:] == ("type",) and isinstance(error.instance, str):
        message = f"invalid JSON Schema: unknown type '{error.instance}'"
        return origin.finding("F401", message, hint_for(error.instance, _TYPES, "types"))
    return origin.finding("F401", f"invalid JSON Schema: {error.message}")


@cache
def _metaschema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"$ref": DIALECT}, offline=True)
