"""One YAML document: its value, and the location of each key and value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from forum_runner.finding import ManifestFinding, Place

_LINE_BREAK = re.compile(r"\r\n|\n|\r")

Step = str | int
Path = tuple[Step, ...]


class YamlMark(Protocol):
    """A position from the YAML parser. Lines and columns count from 0."""

    line: int
    column: int


class Span(Protocol):
    """The location of a value in a file."""

    start_mark: YamlMark
    end_mark: YamlMark


@dataclass(slots=True)
class Branch:
    """The location of a mapping or a list, of its keys and of its values. `duplicates` are keys that occur twice."""

    start_mark: YamlMark
    end_mark: YamlMark
    children: dict[Step, Span]
    keys: dict[Step, Span]
    duplicates: frozenset[Step] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A YAML document with its locations. `renames` maps the path of a field to its misspelled key in the file."""

    file: str
    text: str
    value: Any
    span: Span
    renames: dict[Path, str] = field(default_factory=dict)

    def origin(self, *path: Step) -> Origin:
        return Origin(self, path)


@dataclass(frozen=True, slots=True)
class Origin:
    """The location from which a value of the model was read."""

    document: Document
    path: Path = ()

    def at(self, *steps: Step) -> Origin:
        """The origin of a value inside this one."""
        return Origin(self.document, self.path + steps)

    def place(self) -> Place:
        """The place of the value, or of its nearest parent if it is missing."""
        span, _ = self._find()
        return _place(self.document.file, span)

    def key_place(self) -> Place:
        """The place of the value's key, or of the value itself in a list."""
        span, key = self._find()
        return _place(self.document.file, key or span)

    def place_of(self, fragment: str, *, last: bool = False) -> Place:
        """The place of a piece of text inside the value, or of the value if the text is not found."""
        value_place = self.place()
        span, _ = self._find()
        first, end = span.start_mark, span.end_mark
        place = value_place
        for offset, line in enumerate(lines_of(self.document.text)[first.line : end.line + 1]):
            start = first.column if offset == 0 else 0
            column = line.rfind(fragment, start) if last else line.find(fragment, start)
            if column >= 0:
                number = first.line + offset + 1
                place = Place(value_place.file, number, column + 1, number, column + 1 + len(fragment))
                if not last:
                    return place
        return place

    def finding(self, code: str, message: str, hint: str | None = None) -> ManifestFinding:
        return ManifestFinding(code, self.place(), message, hint)

    def key_finding(self, code: str, message: str, hint: str | None = None) -> ManifestFinding:
        return ManifestFinding(code, self.key_place(), message, hint)

    def is_ambiguous(self) -> bool:
        """Whether a key on the path occurs twice, so that the user may have meant a different value."""
        span: Span = self.document.span
        for depth, step in enumerate(self.path, start=1):
            name = self.document.renames.get(self.path[:depth], step)
            if not isinstance(span, Branch) or name not in span.children:
                return False
            if name in span.duplicates:
                return True
            span = span.children[name]
        return False

    def _find(self) -> tuple[Span, Span | None]:
        span: Span = self.document.span
        key: Span | None = None
        for depth, step in enumerate(self.path):
            name = self.document.renames.get(self.path[: depth + 1], step)
            if not isinstance(span, Branch):
                # A short form: the value is written in place of a mapping with this field.
                return span, key
            if name not in span.children:
                # A missing field is reported at the key of its parent.
                return key or span, key
            key, span = span.keys.get(name), span.children[name]
        return span, key


@lru_cache(maxsize=8)
def lines_of(text: str) -> list[str]:
    """The lines of a file as YAML counts them. (str.splitlines splits at more characters.)"""
    return _LINE_BREAK.split(text)


def _place(file: str, span: Span) -> Place:
    start, end = span.start_mark, span.end_mark
    if isinstance(span, Branch) and (start.line, start.column) != (end.line, end.column):
        # Underline the first character only, not the whole block.
        return Place(file, start.line + 1, start.column + 1, start.line + 1, start.column + 2)
    return Place(file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)
