"""Reads YAML 1.2 (core schema) and JSON into values with locations. Ambiguous syntax is a finding.

This module uses the parser's events instead of its tree: the C parser builds the tree recursively and crashes on deep
nesting, while events arrive one by one and can be counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from forum_runner.document import Branch, Document, Span, Step, lines_of
from forum_runner.finding import ManifestFinding, Place
from forum_runner.manifest.yaml_scalars import InexactNumber, InvalidTag, resolve_plain, resolve_tagged
from forum_runner.manifest.yaml_text import prepare_text

MAX_DEPTH = 64
MAX_ALIAS_NODES = 100_000

_CHARACTERS_PER_NODE = 100  # a text counts as one additional value for every 100 characters

_Parser: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_COLLECTION_TAGS = {
    MappingStartEvent: (None, "!", "tag:yaml.org,2002:map"),
    SequenceStartEvent: (None, "!", "tag:yaml.org,2002:seq"),
}
_NO_KEYS: dict[Step, Span] = {}
_INVALID_KEY = "\udc00"  # replaces an invalid key; a lone surrogate, because it cannot occur in text
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_yaml(file: str, text: str) -> tuple[list[Document], list[ManifestFinding]]:
    """The documents of a file and its findings. After a syntax error, the documents before it are still returned."""
    readable, replacements = prepare_text(text, is_json=file.endswith(".json"))
    reader = _EventReader(file, text, replacements)
    parser = None
    try:
        parser = _Parser(readable)
        reader.read_all(parser.get_event)
    except _UnreadableError:
        pass
    except yaml.MarkedYAMLError as error:
        reader.findings.append(_syntax_finding(file, text, error))
    except yaml.YAMLError:
        reader.findings.append(_unprintable_finding(file, text))
    finally:
        if parser is not None:
            parser.dispose()
    return reader.documents, reader.findings


class _UnreadableError(Exception):
    """The rest of the file cannot be read; a finding gives the reason."""


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is not complete yet.

    `nodes_at_start` is the number of nodes read so far when it started, itself included. `inner_depth` is the depth of
    its content, and `key` the mapping key whose value comes next.
    """

    value: Any
    span: Branch
    is_mapping: bool
    anchor: str | None
    nodes_at_start: int
    inner_depth: int = 0
    key: str | None = None
    has_merge_key: bool = False


@dataclass(slots=True)
class _AnchoredValue:
    value: Any
    span: Span
    nodes: int
    depth: int


@dataclass(slots=True)
class _EventReader:
    file: str
    text: str
    replacements: dict[int, str]
    documents: list[Document] = field(default_factory=list)
    findings: list[ManifestFinding] = field(default_factory=list)
    stack: list[_Frame] = field(default_factory=list)
    anchors: dict[str, _AnchoredValue | None] = field(default_factory=dict)
    nodes: int = 0
    alias_nodes: int = 0

    def read_all(self, get_event: Callable[[], Any]) -> None:
        handlers: dict[type, Callable[[Any], None]] = {
            ScalarEvent: self._scalar,
            MappingStartEvent: self._open,
            SequenceStartEvent: self._open,
            MappingEndEvent: self._close,
            SequenceEndEvent: self._close,
            AliasEvent: self._alias,
            DocumentStartEvent: lambda _: self.anchors.clear(),
            DocumentEndEvent: lambda _: None,
            StreamStartEvent: lambda _: None,
        }
        while type(event := get_event()) is not StreamEndEvent:
            handlers[type(event)](event)

    def _scalar(self, event: Any) -> None:
        text: str = event.value.translate(self.replacements) if self.replacements else event.value
        weight = 1 + len(text) // _CHARACTERS_PER_NODE
        self.nodes += weight
        try:
            if event.tag is not None:
                value = resolve_tagged(event.tag, text)
            else:
                value = text if event.style else resolve_plain(text)
        except (InexactNumber, InvalidTag) as error:
            self._add(error.code, event, str(error), error.hint)
            value = None
        if event.anchor is not None:
            self.anchors[event.anchor] = _AnchoredValue(value, event, weight, 0)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.key is not None:
            # Values in mappings are the most common case, so avoid a call here.
            frame.value[frame.key] = value
            frame.span.children[frame.key] = event
            frame.key = None
        else:
            self._attach(value, event, text if not event.style else None)

    def _attach(self, value: Any, span: Any, plain: str | None = None) -> None:
        """Adds a finished value to its parent: as a document root, a list item, a mapping key or a mapping value."""
        if not self.stack:
            if plain == "":
                return  # an empty document
            self.documents.append(Document(self.file, self.text, value, span))
            return
        frame = self.stack[-1]
        if not frame.is_mapping:
            frame.span.children[len(frame.value)] = span
            frame.value.append(value)
        elif frame.key is None:
            frame.key = self._key(frame, value, span, plain)
        else:
            frame.value[frame.key] = value
            frame.span.children[frame.key] = span
            frame.key = None

    def _key(self, frame: _Frame, value: object, span: Any, plain: str | None) -> str:
        if plain == "<<":
            self._add("F111", span, "merge keys ('<<') are not supported", "write the fields out, or use an alias")
            frame.has_merge_key = True
            return plain
        if not isinstance(value, str):
            scalar = plain or ("empty" if value is None else json.dumps(value))
            actual = "a mapping or list" if isinstance(value, dict | list) else scalar
            hint = f"quote it: '{plain}'" if plain else None
            self._add("F116", span, f"a key must be a string, but this is {actual}", hint)
            return _INVALID_KEY
        if value in frame.value:
            first_line = frame.span.keys[value].start_mark.line + 1
            self._add("F110", span, f"duplicate key '{value}', first used on line {first_line}")
            frame.span.duplicates |= {value}
        frame.span.keys[value] = span
        return value

    def _open(self, event: Any) -> None:
        kind = type(event)
        self.nodes += 1
        if len(self.stack) >= MAX_DEPTH:
            self._add("F115", event, f"nested more than {MAX_DEPTH} levels deep")
            raise _UnreadableError
        if event.tag not in _COLLECTION_TAGS[kind]:
            problem = InvalidTag(event.tag)
            self._add(problem.code, event, str(problem), problem.hint)
        is_mapping = kind is MappingStartEvent
        span = Branch(event.start_mark, event.end_mark, {}, {} if is_mapping else _NO_KEYS)
        self.stack.append(_Frame({} if is_mapping else [], span, is_mapping, event.anchor, self.nodes))
        if event.anchor is not None:
            self.anchors[event.anchor] = None

    def _close(self, event: Any) -> None:
        frame = self.stack.pop()
        frame.span.end_mark = event.end_mark
        if frame.is_mapping:
            frame.value.pop(_INVALID_KEY, None)
        if frame.has_merge_key:
            _merge(frame.value, frame.span)
        if frame.anchor is not None:
            nodes = 1 + self.nodes - frame.nodes_at_start
            self.anchors[frame.anchor] = _AnchoredValue(frame.value, frame.span, nodes, frame.inner_depth + 1)
        if self.stack:
            self.stack[-1].inner_depth = max(self.stack[-1].inner_depth, frame.inner_depth + 1)
        self._attach(frame.value, frame.span)

    def _alias(self, event: Any) -> None:
        name = event.anchor
        anchored = self.anchors.get(name)
        if anchored is None:
            if name in self.anchors:
                self._add("F114", event, f"alias '*{name}' is inside the value that it refers to")
            else:
                self._add("F113", event, f"alias '*{name}' has no anchor '&{name}' before it")
            self._attach(None, event)
            return
        self.nodes += anchored.nodes
        self.alias_nodes += anchored.nodes
        if self.alias_nodes > MAX_ALIAS_NODES:
            self._add("F112", event, f"aliases expand to more than {MAX_ALIAS_NODES:,} values")
            raise _UnreadableError
        if len(self.stack) + anchored.depth > MAX_DEPTH:
            self._add("F115", event, f"nested more than {MAX_DEPTH} levels deep")
            raise _UnreadableError
        if self.stack:
            self.stack[-1].inner_depth = max(self.stack[-1].inner_depth, anchored.depth)
        self._attach(anchored.value, anchored.span)

    def _add(self, code: str, span: Any, message: str, hint: str | None = None) -> None:
        start, end = span.start_mark, span.end_mark
        place = Place(self.file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)
        self.findings.append(ManifestFinding(code, place, message, hint))


def _merge(value: dict[str, Any], span: Branch) -> None:
    """Adds the fields of an unsupported merge key, so that they are not also reported as missing."""
    merged, merged_span = value.pop("<<"), span.children.pop("<<")
    if isinstance(merged, dict) and isinstance(merged_span, Branch):
        value |= {name: item for name, item in merged.items() if name not in value}
        span.children = {**merged_span.children, **span.children}
        span.keys = {**merged_span.keys, **span.keys}


def _syntax_finding(file: str, text: str, error: yaml.MarkedYAMLError) -> ManifestFinding:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    place = Place(file, line + 1, column + 1, line + 1, column + 2)
    lines = lines_of(text)
    source = lines[line] if line < len(lines) else ""
    if "\t" in source[: len(source) - len(source.lstrip())] or source[column : column + 1] == "\t":
        return ManifestFinding("F109", place, "YAML does not allow tabs for indentation", "indent with spaces")
    problem = error.problem or "cannot be read as YAML"
    context = f" {error.context}" if error.context else ""
    hint = "quote text that contains ': '" if problem.startswith("mapping values") else None
    if "${{" in source:
        hint = "inside [ ] or { }, quote text that contains '${{'"
    return ManifestFinding("F108", place, f"invalid YAML: {problem}{context}", hint)


def _unprintable_finding(file: str, text: str) -> ManifestFinding:
    match = _UNPRINTABLE.search(text)
    offset = match.start() if match else 0
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    character = f"character U+{ord(text[offset]):04X}" if match else "a character"
    message = f"{character} is not allowed in a manifest"
    return ManifestFinding(
        "F119",
        Place(file, line, column, line, column + 1),
        message,
        "write it as an escape sequence in a double-quoted string",
    )
