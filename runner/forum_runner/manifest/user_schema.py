"""Schemas that users write: checked, and made self-contained so that whoever gets the wave plan needs nothing else.

`$ref` may name a part of the same schema or a file of the bundle, which is taken in under `$defs`, by its digest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

import jsonschema_rs

from forum_runner.canonical import canonical, digest
from forum_runner.document import Document, Origin
from forum_runner.manifest import pointer
from forum_runner.manifest.bundle import Bundle
from forum_runner.manifest.schema_keywords import (
    DIALECT,
    KEYWORDS,
    LIST_OF_SCHEMAS,
    MAP_OF_SCHEMAS,
    ONE_SCHEMA,
    REFUSED,
    subschemas,
)
from forum_runner.manifest.suggest import hint_for
from forum_runner.model import Schema

_FRAGMENT = re.compile(r"(/[^#]*)?")


class SchemaReader:
    """Checks schemas and takes in the files that they name; what is wrong goes to the bundle's findings."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._checked: dict[bytes, Schema] = {}

    def read(self, value: Any, origin: Origin) -> Schema | None:
        """The schema, or None if it has findings."""
        key = origin.document.file.encode() + b"\0" + canonical(value)
        if key not in self._checked:
            checked = self._read(value, origin)
            if checked is None:
                return None
            self._checked[key] = checked
        return self._checked[key]

    def _read(self, value: Any, origin: Origin) -> Schema | None:
        before = len(self._bundle.findings)
        definitions: dict[str, Any] = {}
        whole = self._checked_and_rewritten(value, origin, "#", definitions)
        if len(self._bundle.findings) > before:
            return None
        if definitions:
            whole = {**whole, "$defs": {**whole.get("$defs", {}), **definitions}}
        if any(_leads_back(whole, schema) for _, schema in subschemas(whole)):
            self._bundle.findings.append(origin.finding("F123", "the schema's references lead back to themselves"))
            return None
        try:
            jsonschema_rs.Draft202012Validator(whole, offline=True)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            self._bundle.findings.append(origin.finding("F401", f"not a valid JSON Schema: {reason}"))
            return None
        return Schema(digest(canonical(whole)), whole)

    def _checked_and_rewritten(self, value: Any, origin: Origin, root: str, definitions: dict[str, Any]) -> Any:
        """The schema with every `$ref` leading to its new place; `root` is the place of the schema itself."""
        if not self._is_well_formed(value, origin):
            return value
        targets = {}
        for path, schema in subschemas(value):
            if "$ref" in schema:
                at = origin.at(*path, "$ref")
                targets[path] = self._target(schema["$ref"], value, at, root, definitions)
        return _rewritten(value, (), targets)

    def _is_well_formed(self, value: Any, origin: Origin) -> bool:
        before = len(self._bundle.findings)
        findings = self._bundle.findings
        for path, schema in subschemas(value):
            for keyword in schema:
                at = origin.at(*path, keyword)
                if keyword in REFUSED:
                    findings.append(at.key_finding("F403", f"'{keyword}' is not read in schemas", "use '$defs'"))
                elif keyword not in KEYWORDS and not keyword.startswith("x-"):
                    hint = hint_for(keyword, KEYWORDS, "keywords") if len(keyword) > 1 else None
                    findings.append(at.key_finding("F402", f"'{keyword}' is not a keyword of JSON Schema", hint))
                elif keyword == "$schema" and str(schema[keyword]).rstrip("#") != DIALECT:
                    findings.append(at.finding("F403", "only JSON Schema 2020-12 is read", f"write {DIALECT}"))
        reported = set()
        for error in _metaschema().iter_errors(value):
            place = origin.at(*error.instance_path)
            if place.path not in reported:
                reported.add(place.path)
                findings.append(place.finding("F401", f"not a valid JSON Schema: {error.message}"))
        return len(findings) == before

    def _target(self, ref: str, whole: Any, at: Origin, root: str, definitions: dict[str, Any]) -> str:
        path, _, fragment = ref.partition("#")
        fragment = unquote(fragment)
        if not _FRAGMENT.fullmatch(fragment):
            message = f"'$ref' {ref} does not end in a JSON Pointer"
            self._bundle.findings.append(at.finding("F405", message, "write '#/$defs/name'"))
            return ref
        if path:
            document = self._file(path, at)
            if document is None:
                return ref
            whole = document.value
            root = self._taken_in(document, definitions)
        problem = _chain_problem(whole, fragment)
        if problem is not None:
            self._bundle.findings.append(at.finding(problem[0], f"'$ref' {ref} {problem[1]}"))
        return root + quote(fragment, safe="/$~")

    def _file(self, path: str, at: Origin) -> Document | None:
        before = len(self._bundle.findings)
        source = self._bundle.open_reference(path, at)
        # A reference that cannot be followed has one code, whatever the reason was.
        for index in range(before, len(self._bundle.findings)):
            found = self._bundle.findings[index]
            if found.code in ("F120", "F122") and found.place == at.place():
                self._bundle.findings[index] = at.finding("F404", f"'$ref' {found.message}", found.hint)
        return self._bundle.single_document(source, at) if source else None

    def _taken_in(self, document: Document, definitions: dict[str, Any]) -> str:
        key = digest(canonical(document.value))
        place = f"#/$defs/{key}"
        if key not in definitions:
            definitions[key] = True  # stands in while the file is read: files may refer to each other
            definitions[key] = self._checked_and_rewritten(document.value, document.origin(), place, definitions)
        return place


def _rewritten(schema: Any, path: tuple[str | int, ...], targets: Mapping[tuple[str | int, ...], str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "$ref":
            result[keyword] = targets[path]
        elif keyword in ONE_SCHEMA:
            result[keyword] = _rewritten(value, (*path, keyword), targets)
        elif keyword in LIST_OF_SCHEMAS:
            result[keyword] = [_rewritten(item, (*path, keyword, i), targets) for i, item in enumerate(value)]
        elif keyword in MAP_OF_SCHEMAS:
            result[keyword] = {name: _rewritten(item, (*path, keyword, name), targets) for name, item in value.items()}
        else:
            result[keyword] = value
    return result


def _leads_back(whole: Any, schema: Mapping[str, Any]) -> bool:
    problem = _chain_problem(whole, unquote(schema["$ref"][1:])) if "$ref" in schema else None
    return problem is not None and problem[0] == "F123"


def _chain_problem(whole: Any, fragment: str) -> tuple[str, str] | None:
    """Follows references inside one schema: each must lead somewhere, and not back to itself."""
    seen = set()
    while True:
        if fragment in seen:
            return "F123", "leads back to itself"
        seen.add(fragment)
        try:
            target = pointer.look_up(whole, fragment)
        except KeyError:
            return "F405", "names nothing that is there"
        following = target.get("$ref") if isinstance(target, dict) else None
        if not isinstance(following, str) or not following.startswith("#"):
            return None
        fragment = unquote(following[1:])


@cache
def _metaschema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"$ref": DIALECT}, offline=True)
