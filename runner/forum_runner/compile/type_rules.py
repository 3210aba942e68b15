"""Static checks of JSON Schemas: whether a pointer can have a target, and whether two schemas are compatible.

Reports only problems that occur with every possible value. All other data is validated on delivery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from forum_runner.manifest import pointer
from forum_runner.manifest.units import counted

_ALL_KINDS = frozenset({"null", "boolean", "object", "array", "string", "integer", "fraction"})
_NUMBER_KINDS = frozenset({"integer", "fraction"})
_KIND_NAMES = {"null": "null", "boolean": "a boolean", "object": "an object", "array": "an array", "string": "text"}
_KIND_NAMES |= {"integer": "a number", "fraction": "a number"}
# Larger types are not compared completely; their values are validated on delivery.
_MAX_DEPTH = 64
_MAX_COMPARED = 100
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
    def list_of(cls, item: Type, length: int) -> Type:
        """A list with at most `length` items."""
        return cls.of({"type": "array", "items": item, "maxItems": length})

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
        """The JSON types that a value may have. `cache` holds the results by the id() of the schema."""
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
class UnknownPointer:
    """A pointer that has no target in any value of the type.

    `token` is the step that fails, and `known` are the names that exist in its place.
    """

    token: str
    reason: str
    known: tuple[str, ...] = ()


def select(type_: Type, path: str) -> Type | UnknownPointer:
    """The type of the pointer's target, or the reason why it cannot have one."""
    for token in pointer.tokens(path):
        step = _child_type(type_, token)
        if isinstance(step, UnknownPointer):
            return step
        type_ = step
    return type_


def incompatibility(delivered: Type, expected: Type, compared: dict[_Pair, _Types] | None = None) -> str | None:
    """Why no value can match both types, or None if one might. `compared` holds the pairs already compared."""
    compared = {} if compared is None else compared
    pair = (id(delivered.node), id(expected.node))
    if pair in compared or len(compared) >= _MAX_COMPARED:
        return None
    # Keep the types alive, so that their ids are not reused.
    compared[pair] = (delivered, expected)
    delivered_kinds, expected_kinds = delivered.kinds(), expected.kinds()
    shared = delivered_kinds & expected_kinds
    if not shared:
        return f"expected {_list_kinds(expected_kinds)}, but got {_list_kinds(delivered_kinds)}"
    delivered_choices, expected_choices = delivered.choices(), expected.choices()
    if delivered_choices is not None and expected_choices is not None:
        if not any(_is_equal(a, b) for a in delivered_choices for b in expected_choices):
            return "none of the possible values is expected"
        return None
    if shared != {"object"}:
        return None
    for name in sorted(expected.required_names()):
        objects = delivered.derive(delivered.node, {"type": "object"})
        inner_delivered, inner_expected = _child_type(objects, name), _child_type(expected, name)
        if isinstance(inner_delivered, UnknownPointer):
            return f"expected '{name}', which can never exist"
        if isinstance(inner_expected, Type):
            reason = incompatibility(inner_delivered, inner_expected, compared)
            if reason is not None:
                return f"at '{name}', {reason}"
    return None


def _child_type(type_: Type, token: str) -> Type | UnknownPointer:
    kinds = type_.kinds()
    if not kinds & {"object", "array"}:
        return UnknownPointer(token, f"it is {_list_kinds(kinds)}")
    if {"object", "array"} <= kinds:
        return type_.derive(True)
    if "object" in kinds:
        return _property_type(type_, token)
    return _item_type(type_, token)


def _property_type(type_: Type, name: str) -> Type | UnknownPointer:
    children = []
    for node in type_.conjuncts():
        properties = node.get("properties", {})
        if name in properties:
            children.append(properties[name])
        elif "patternProperties" in node:
            continue
        elif node.get("additionalProperties") is False:
            return UnknownPointer(name, f"it has no '{name}'", tuple(sorted(properties)))
        elif "additionalProperties" in node:
            children.append(node["additionalProperties"])
    return type_.derive(*children)


def _item_type(type_: Type, token: str) -> Type | UnknownPointer:
    if not (token.isascii() and token.isdecimal()) or (len(token) > 1 and token.startswith("0")):
        return UnknownPointer(token, f"it is an array, and '{token}' is not an index")
    index, children = int(token), []
    for node in type_.conjuncts():
        first = node.get("prefixItems", [])
        if index >= node.get("maxItems", index + 1):
            return UnknownPointer(token, f"it has at most {counted(node['maxItems'], 'item')}")
        if index < len(first):
            children.append(first[index])
        elif node.get("items") is False:
            return UnknownPointer(token, f"it has at most {counted(len(first), 'item')}")
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
    names = sorted({_KIND_NAMES[kind] for kind in kinds})
    return " or ".join(names) if names else "nothing"
