"""Static checks of JSON Schemas: whether a pointer can have a target, and whether two schemas are compatible.

Reports only problems that occur with every possible value. Others are found when a value is validated on delivery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from forum_runner.manifest import pointer
from forum_runner.manifest.units import counted

_ALL_KINDS = frozenset({"null", "boolean", "object", "array", "string", "integer", "fraction"})
_NUMBER_KINDS = frozenset({"integer", "fraction"})
_KIND_NAMES = {"null": "null", "boolean": "a boolean", "object": "an object", "array": "a list", "string": "a string"}
_KIND_NAMES |= {"integer": "an integer", "fraction": "a non-integer number"}
# Larger types are not compared completely; their values are validated on delivery.
_MAX_DEPTH = 64
_MAX_COMPARED_PAIRS = 100
TEXT = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Type:
    """A schema, and the root schema that its references are relative to."""

    root: Any
    node: Any

    @classmethod
    def of(cls, schema: Any) -> Type:
        return cls(schema, schema)

    @classmethod
    def list_of(cls, item: Type, max_length: int) -> Type:
        """A list with at most `max_length` items."""
        return cls.of({"type": "array", "items": item, "maxItems": max_length})

    @classmethod
    def record(cls, fields: Mapping[str, Type]) -> Type:
        """An object type. Each field keeps its own root, so that its references still resolve."""
        return cls.of({"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False})

    def derive(self, *nodes: Any) -> Type:
        """The type of a value that must match all of the nodes, with references relative to the same root."""
        if len(nodes) == 1:
            return nodes[0] if isinstance(nodes[0], Type) else Type(self.root, nodes[0])
        return Type(self.root, {"allOf": list(nodes)})

    def conjuncts(self) -> Iterator[Mapping[str, Any]]:
        """The schemas that must all match, with references and `allOf` resolved."""
        pending, visited = [self.node], set()
        while pending:
            node = pending.pop()
            if node is False:
                yield {"enum": []}
            if not isinstance(node, Mapping) or id(node) in visited:
                continue
            visited.add(id(node))
            yield node
            pending += node.get("allOf", ())
            if "$ref" in node:
                pending.append(pointer.look_up(self.root, unquote(node["$ref"][1:])))

    def kinds(self, cache: dict[int, frozenset[str]] | None = None, depth: int = 0) -> frozenset[str]:
        """The JSON types that a value may have, with `number` split into `integer` and `fraction` (not an integer).

        `cache` holds the results by the id() of the schema.
        """
        cache = {} if cache is None else cache
        if id(self.node) in cache or depth > _MAX_DEPTH:
            return cache.get(id(self.node), _ALL_KINDS)
        cache[id(self.node)] = kinds = _ALL_KINDS
        for node in self.conjuncts():
            kinds &= _kinds_of_node(node)
            for keyword in ("anyOf", "oneOf"):
                if keyword in node:
                    branches = [self.derive(branch).kinds(cache, depth + 1) for branch in node[keyword]]
                    kinds &= frozenset().union(*branches)
        cache[id(self.node)] = kinds
        return kinds

    def choices(self) -> list[Any] | None:
        """The allowed values if they are listed (for several lists, their intersection); otherwise None."""
        choices: list[Any] | None = None
        for node in self.conjuncts():
            for listed in ([node["const"]] if "const" in node else None, node.get("enum")):
                if listed is not None:
                    choices = (
                        list(listed)
                        if choices is None
                        else [a for a in choices if any(_is_equal(a, b) for b in listed)]
                    )
        return choices

    def required_names(self) -> set[str]:
        """The names that every object of this type must have."""
        return {name for node in self.conjuncts() for name in node.get("required", ())}


_Pair = tuple[int, int]
_Types = tuple[Type, Type]


@dataclass(frozen=True, slots=True)
class NoTarget:
    """Why a pointer has no target in any value of the type.

    `steps` lead to the first value that cannot exist, `problem` is a predicate about the value that should contain it,
    and `known` are the property names that could be used instead of the last step.
    """

    steps: tuple[str, ...]
    problem: str
    known: tuple[str, ...] = ()

    def sentence(self, output: str) -> str:
        """`output` is what the sentence calls the value that the pointer starts at."""
        parent = f"'{pointer.join(self.steps[:-1])}'" if len(self.steps) > 1 else "the output"
        return f"'{pointer.join(self.steps)}' does not exist in {output}: {parent} {self.problem}"


def select(type_: Type, path: str) -> Type | NoTarget:
    """The type of the pointer's target, or the reason why it cannot have one."""
    steps = tuple(pointer.tokens(path))
    for position, token in enumerate(steps):
        child = _child_type(type_, token)
        if isinstance(child, NoTarget):
            return replace(child, steps=steps[: position + 1])
        type_ = child
    return type_


def incompatibility(source: str, delivered: Type, expected: Type) -> str | None:
    """A sentence that says why no value from `source` can match the expected type, or None if one might."""
    return _find_conflict(source, (), delivered, expected, {})


def _find_conflict(
    source: str, steps: tuple[str, ...], delivered: Type, expected: Type, compared: dict[_Pair, _Types]
) -> str | None:
    """`steps` lead from the value to the part that has these types. `compared` holds the pairs already compared."""
    pair = (id(delivered.node), id(expected.node))
    if pair in compared or len(compared) >= _MAX_COMPARED_PAIRS:
        return None
    # Keep the types alive, so that their ids are not reused.
    compared[pair] = (delivered, expected)
    delivered_kinds, expected_kinds = delivered.kinds(), expected.kinds()
    shared = delivered_kinds & expected_kinds
    place = f" at '{pointer.join(steps)}'" if steps else ""
    if not shared:
        return (
            f"'{source}' delivers {_list_kinds(delivered_kinds)}{place}, but {_list_kinds(expected_kinds)} is expected"
        )
    delivered_choices, expected_choices = delivered.choices(), expected.choices()
    if delivered_choices is not None and expected_choices is not None:
        if not any(_is_equal(a, b) for a in delivered_choices for b in expected_choices):
            return f"'{source}' can deliver none of the expected values{place}"
        return None
    if shared != {"object"}:
        return None
    for name in sorted(expected.required_names()):
        objects = delivered.derive(delivered.node, {"type": "object"})
        inner_delivered, inner_expected = _child_type(objects, name), _child_type(expected, name)
        inner_steps = (*steps, name)
        if isinstance(inner_delivered, NoTarget):
            return f"'{source}' never delivers '{pointer.join(inner_steps)}', which is required"
        if isinstance(inner_expected, Type):
            conflict = _find_conflict(source, inner_steps, inner_delivered, inner_expected, compared)
            if conflict is not None:
                return conflict
    return None


def _child_type(type_: Type, token: str) -> Type | NoTarget:
    kinds = type_.kinds()
    if not kinds & {"object", "array"}:
        return NoTarget((token,), f"is {_list_kinds(kinds)}")
    if {"object", "array"} <= kinds:
        return type_.derive(True)
    if "object" in kinds:
        return _property_type(type_, token)
    return _item_type(type_, token)


def _property_type(type_: Type, name: str) -> Type | NoTarget:
    children = []
    for node in type_.conjuncts():
        properties = node.get("properties", {})
        if name in properties:
            children.append(properties[name])
        elif "patternProperties" in node:
            continue
        elif node.get("additionalProperties") is False:
            return NoTarget((name,), f"has no property '{name}'", tuple(sorted(properties)))
        elif "additionalProperties" in node:
            children.append(node["additionalProperties"])
    return type_.derive(*children)


def _item_type(type_: Type, token: str) -> Type | NoTarget:
    if not (token.isascii() and token.isdecimal()) or (len(token) > 1 and token.startswith("0")):
        return NoTarget((token,), f"is a list, and '{token}' is not an index")
    index, children = int(token), []
    for node in type_.conjuncts():
        first = node.get("prefixItems", [])
        if index >= node.get("maxItems", index + 1):
            return NoTarget((token,), f"has at most {counted(node['maxItems'], 'item')}")
        if index < len(first):
            children.append(first[index])
        elif node.get("items") is False:
            return NoTarget((token,), f"has at most {counted(len(first), 'item')}")
        elif "items" in node:
            children.append(node["items"])
    return type_.derive(*children)


def _kinds_of_node(node: Mapping[str, Any]) -> frozenset[str]:
    kinds = _ALL_KINDS
    if "type" in node:
        names = node["type"] if isinstance(node["type"], list) else [node["type"]]
        kinds &= frozenset().union(*(_NUMBER_KINDS if name == "number" else {name} for name in names))
    if "const" in node:
        kinds &= {_kind_of(node["const"])}
    if "enum" in node:
        kinds &= frozenset(_kind_of(value) for value in node["enum"])
    return kinds


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", str: "string", dict: "object", list: "array", int: "integer", float: "fraction"}
    return kinds[type(value)]


def _is_equal(a: Any, b: Any) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _list_kinds(kinds: frozenset[str]) -> str:
    names = {_KIND_NAMES[kind] for kind in kinds}
    if kinds >= _NUMBER_KINDS:
        names = {_KIND_NAMES[kind] for kind in kinds - _NUMBER_KINDS} | {"a number"}
    return " or ".join(sorted(names)) if names else "no value"
