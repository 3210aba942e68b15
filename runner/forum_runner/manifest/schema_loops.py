"""Finds schemas that refer to themselves without descending into the value, so that validation would never end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import unquote

from forum_runner.document import Path
from forum_runner.manifest import pointer
from forum_runner.manifest.schema_keywords import subschemas

# The keywords whose subschemas apply to the same value as the schema that contains them.
_IN_PLACE_ONE = ("else", "if", "not", "then")
_IN_PLACE_LIST = ("allOf", "anyOf", "oneOf")


def find_endless_reference(root_schema: Any) -> Path | None:
    """The path of the first `$ref` that leads into a loop, or None. All references must be resolvable."""
    by_id: dict[int, tuple[Path, dict[str, Any]]] = {}
    for path, schema in subschemas(root_schema):
        by_id.setdefault(id(schema), (path, schema))
    successors = {key: [id(n) for n in _in_place_subschemas(schema, root_schema)] for key, (_, schema) in by_id.items()}
    sorter = TopologicalSorter(successors)
    with suppress(CycleError):
        sorter.prepare()
    finite: set[int] = set()
    while ready := sorter.get_ready():
        finite.update(ready)
        sorter.done(*ready)
    endless = ((*path, "$ref") for key, (path, schema) in by_id.items() if key not in finite and "$ref" in schema)
    return next(endless, None)


def _in_place_subschemas(schema: dict[str, Any], root_schema: Any) -> Iterator[Any]:
    """The schemas that apply to the same value as this schema."""
    yield from (schema[keyword] for keyword in _IN_PLACE_ONE if keyword in schema)
    yield from (item for keyword in _IN_PLACE_LIST for item in schema.get(keyword, ()))
    yield from schema.get("dependentSchemas", {}).values()
    if "$ref" in schema:
        yield pointer.look_up(root_schema, unquote(schema["$ref"][1:]))
