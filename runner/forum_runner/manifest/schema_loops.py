"""Finds schemas that refer to themselves without descending into the value, so that validation would never end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from forum_runner.document import Path
from forum_runner.manifest import pointer
from forum_runner.manifest.schema_keywords import subschemas

# The keywords whose subschemas apply to the same value as the schema that contains them.
_IN_PLACE_ONE = ("else", "if", "not", "then")
_IN_PLACE_LIST = ("allOf", "anyOf", "oneOf")


def endless_reference(whole: Any) -> Path | None:
    """The path of a `$ref` that is part of a loop, if there is one. All references must be resolvable."""
    by_id: dict[int, tuple[Path, dict[str, Any]]] = {}
    for path, schema in subschemas(whole):
        by_id.setdefault(id(schema), (path, schema))
    following = {key: [id(n) for n in _same_value(schema, whole)] for key, (_, schema) in by_id.items()}
    looping = _on_loops(following)
    for key, (path, schema) in by_id.items():
        if key in looping and "$ref" in schema:
            return (*path, "$ref")
    return None


def _same_value(schema: dict[str, Any], whole: Any) -> Iterator[Any]:
    yield from (schema[keyword] for keyword in _IN_PLACE_ONE if keyword in schema)
    yield from (item for keyword in _IN_PLACE_LIST for item in schema.get(keyword, ()))
    yield from schema.get("dependentSchemas", {}).values()
    if "$ref" in schema:
        yield pointer.look_up(whole, unquote(schema["$ref"][1:]))


def _on_loops(following: dict[int, list[int]]) -> set[int]:
    """The nodes that remain after repeatedly removing those without successors."""
    successor_counts = {key: sum(target in following for target in targets) for key, targets in following.items()}
    sources: dict[int, list[int]] = {key: [] for key in following}
    for key, targets in following.items():
        for target in targets:
            if target in sources:
                sources[target].append(key)
    removable = [key for key, count in successor_counts.items() if count == 0]
    while removable:
        key = removable.pop()
        del successor_counts[key]
        for source in sources[key]:
            successor_counts[source] -= 1
            if successor_counts[source] == 0:
                removable.append(source)
    return set(successor_counts)
