"""Validators for the project's JSON Schemas, built with the library `jsonschema`."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry
from referencing.jsonschema import DRAFT202012

_BASE = "https://forum.invalid/v1/"
_CHECKOUT = Path(__file__).resolve().parents[2]
_MAX_MESSAGE = 200
_RECURSION_LIMIT = 10_000


def _match_pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    """Replaces the stock check: in JSON Schema, `$` matches only at the end; in Python, also before a final newline."""
    exact = pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern
    if isinstance(instance, str) and not re.search(exact, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_extend: Any = validators.extend
_Validator: type[Draft202012Validator] = _extend(Draft202012Validator, {"pattern": _match_pattern})


def _folder() -> Traversable:
    """The package's own copy; in a checkout, the shared directory.

    Never the runner's copy: a different version of the runner must not change the judge's findings.
    """
    own = files("forum_conformance") / "schema_files" / "v1"
    return own if own.is_dir() else _CHECKOUT / "schemas" / "v1"


@cache
def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((_folder() / name).read_text(encoding="utf-8"))
    return loaded


@cache
def _registry() -> Registry[Any]:
    names = ("entry.schema.json", "wave-plan.schema.json", "types.schema.json", "proof.schema.json")
    return Registry().with_resources(
        (_BASE + name, DRAFT202012.create_resource(_without_declaration(name))) for name in names
    )


def _without_declaration(name: str) -> dict[str, Any]:
    """The schema without `$schema`: references to a schema that declares it would use the stock validator, not ours."""
    return {keyword: value for keyword, value in schema(name).items() if keyword != "$schema"}


@cache
def wave_plan_validator() -> Draft202012Validator:
    return _Validator({"$ref": f"{_BASE}wave-plan.schema.json"}, registry=_registry())


@cache
def proof_validator() -> Draft202012Validator:
    return _Validator({"$ref": f"{_BASE}proof.schema.json"}, registry=_registry())


@cache
def known_kinds() -> frozenset[str]:
    return frozenset(_kind_of(branch) for branch in schema("entry.schema.json")["allOf"])


@cache
def entry_validator(kind: str | None) -> Draft202012Validator:
    """A validator with only the branch of this kind: trying all branches for every entry takes twice as long."""
    entry_schema = schema("entry.schema.json")
    # True accepts everything: `allOf` may not be empty.
    branches = [branch for branch in entry_schema["allOf"] if _kind_of(branch) == kind] or [True]
    return _Validator({**entry_schema, "allOf": branches})


def _kind_of(branch: dict[str, Any]) -> str:
    kind: str = branch["if"]["properties"]["kind"]["const"]
    return kind


@contextmanager
def raised_recursion_limit() -> Iterator[None]:
    """Allow validators to recurse deeply: they need about ten stack frames for each level of nesting."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def schema_mismatch(validator: Draft202012Validator, value: Any) -> str | None:
    """The first place where a value does not match its schema, and why; None if it matches."""
    error = next(validator.iter_errors(value), None)
    if error is None:
        return None
    message = error.message if len(error.message) <= _MAX_MESSAGE else error.message[:_MAX_MESSAGE] + "..."
    return f"at {error.json_path}: {message}"
