"""What can be said of JSON Schemas before any value is there: whether a pointer can hold, whether two can agree.

Only what is certain is said: a rule that cannot decide lets the edge pass; the hand-over is checked when it happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from forum_runner.manifest import pointer

_ALL = frozenset({"null", "boolean", "object", "array", "string", "integer", "fraction"})
_NUMBER = frozenset({"integer", "fraction"})
_NAMES = {"null": "null", "boolean": "a boolean", "object": "an object", "array": "an array", "string": "text"}
_NAMES |= {"integer": "a number", "fraction": "a number"}
_MAX_DEPTH = 64
_MAX_COMPARED = 100
TEXT = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Type:
    """A schema inside the schema that its references are relative to."""

    root: Any
    node: Any

    @classmethod
    def of(cls, schema: Any) -> Type:
        return cls(schema, schema)

    @classmethod
    def list_of(cls, item: Type, length: int) -> Type:
        """A list of at most so many items."""
        return cls.of({"type": "array", "items": item, "maxItems": length})

    @classmethod
    def record(cls, fields: Mapping[str, Type]) -> Type:
        """Types under names. Each keeps its own root, so that its references still lead where they led."""
        return cls.of({"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False})

    def below(self, *nodes: Any) -> Type:
        """The type that all of the nodes describe."""
        if len(nodes) == 1:
            return nodes[0] if isinstance(nodes[0], Type) else Type(self.root, nodes[0])
        return Type(self.root, {"allOf": list(nodes)})

    def conjuncts(self) -> Iterator[Mapping[str, Any]]:
        """The schemas that must all hold, references and `allOf` unfolded."""
        waiting, seen = [self.node], set()
        while waiting:
            node = waiting.pop()
            if node is False:
                yield {"enum": []}
            if not isinstance(node, Mapping) or id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            waiting += node.get("allOf", ())
            if "$ref" in node:
                waiting.append(pointer.look_up(self.root, unquote(node["$ref"][1:])))

    def kinds(self, known: dict[int, frozenset[str]] | None = None, depth: int = 0) -> frozenset[str]:
        """The JSON types that a value may have. `known` keeps a schema from being looked into twice."""
        known = {} if known is None else known
        if id(self.node) in known or depth > _MAX_DEPTH:
            return known.get(id(self.node), _ALL)
        known[id(self.node)] = kinds = _ALL
        for node in self.conjuncts():
            kinds &= _own_kinds(node)
            for keyword in ("anyOf", "oneOf"):
                if keyword in node:
                    branches = [self.below(branch).kinds(known, depth + 1) for branch in node[keyword]]
                    kinds &= frozenset().union(*branches)
        known[id(self.node)] = kinds
        return kinds

    def choices(self) -> list[Any] | None:
        """The only values that it can have, if they are listed; of several lists, what is in all of them."""
        found: list[Any] | None = None
        for node in self.conjuncts():
            for listed in ([node["const"]] if "const" in node else None, node.get("enum")):
                if listed is not None:
                    found = list(listed) if found is None else [a for a in found if any(_same(a, b) for b in listed)]
        return found

    def required(self) -> set[str]:
        return {name for node in self.conjuncts() for name in node.get("required", ())}


_Pair = tuple[int, int]
_Types = tuple[Type, Type]


@dataclass(frozen=True, slots=True)
class UnknownPointer:
    """A pointer that no value of the type could satisfy."""

    token: str
    reason: str
    known: tuple[str, ...] = ()


def select(type_: Type, path: str) -> Type | UnknownPointer:
    """The type of what the pointer names."""
    for token in pointer.tokens(path):
        step = _step(type_, token)
        if isinstance(step, UnknownPointer):
            return step
        type_ = step
    return type_


def disagreement(given: Type, expected: Type, compared: dict[_Pair, _Types] | None = None) -> str | None:
    """Why no value of the one type could fit the other, if that is certain. `compared` is what was looked at before."""
    compared = {} if compared is None else compared
    pair = (id(given.node), id(expected.node))
    if pair in compared or len(compared) >= _MAX_COMPARED:
        return None
    # The types are kept, so that no other can come to stand under the same id.
    compared[pair] = (given, expected)
    given_kinds, expected_kinds = given.kinds(), expected.kinds()
    shared = given_kinds & expected_kinds
    if not shared:
        return f"{_listed(given_kinds)} is handed over where {_listed(expected_kinds)} is expected"
    given_choices, expected_choices = given.choices(), expected.choices()
    if given_choices is not None and expected_choices is not None:
        if not any(_same(a, b) for a in given_choices for b in expected_choices):
            return "none of the values that can be handed over is expected"
        return None
    if shared != {"object"}:
        return None
    for name in sorted(expected.required()):
        objects = given.below(given.node, {"type": "object"})
        inner_given, inner_expected = _step(objects, name), _step(expected, name)
        if isinstance(inner_given, UnknownPointer):
            return f"'{name}' is expected and can never be there"
        if isinstance(inner_expected, Type):
            reason = disagreement(inner_given, inner_expected, compared)
            if reason is not None:
                return f"at '{name}', {reason}"
    return None


def _step(type_: Type, token: str) -> Type | UnknownPointer:
    kinds = type_.kinds()
    if not kinds & {"object", "array"}:
        return UnknownPointer(token, f"it is {_listed(kinds)}")
    if {"object", "array"} <= kinds:
        return type_.below(True)
    if "object" in kinds:
        return _member(type_, token)
    return _item(type_, token)


def _member(type_: Type, name: str) -> Type | UnknownPointer:
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
    return type_.below(*children)


def _item(type_: Type, token: str) -> Type | UnknownPointer:
    if not (token.isascii() and token.isdecimal()) or (len(token) > 1 and token.startswith("0")):
        return UnknownPointer(token, f"it is an array, and '{token}' is not an index")
    index, children = int(token), []
    for node in type_.conjuncts():
        first = node.get("prefixItems", [])
        if index >= node.get("maxItems", index + 1):
            return UnknownPointer(token, f"it has at most {node['maxItems']} items")
        if index < len(first):
            children.append(first[index])
        elif node.get("items") is False:
            return UnknownPointer(token, f"it has at most {len(first)} items")
        elif "items" in node:
            children.append(node["items"])
    return type_.below(*children)


def _own_kinds(node: Mapping[str, Any]) -> frozenset[str]:
    kinds = _ALL
    if "type" in node:
        names = node["type"] if isinstance(node["type"], list) else [node["type"]]
        kinds &= frozenset().union(*(_NUMBER if name == "number" else {name} for name in names))
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


def _same(a: Any, b: Any) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _listed(kinds: frozenset[str]) -> str:
    names = sorted({_NAMES[kind] for kind in kinds})
    return " or ".join(names) if names else "nothing"
