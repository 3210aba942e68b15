"""Parses `${{ ... }}` in text: references only, never logic. `$${{` is the escape for `${{`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.model import Reference, Text

NAMESPACES = ("inputs", "matrix", "needs", "run")

REFERENCE_HINT = "write inputs.x, matrix.x, needs.x or run.id; '$${{' is a literal '${{'"

_OPENING = "${{"
_CLOSING = "}}"
_REFERENCE = re.compile(r"[ \t\r\n]*([A-Za-z_]+)\.([A-Za-z][A-Za-z0-9_-]*)[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """`source` is the invalid part of the text; `is_last`: the problem is at its last occurrence."""

    source: str
    message: str
    is_last: bool = False


def parse_text(text: str) -> tuple[Text, list[TemplateProblem]]:
    """Splits text into literals and references; an invalid reference is left out and returned as a problem."""
    parts: list[str | Reference] = []
    problems: list[TemplateProblem] = []
    position = 0
    while (start := text.find(_OPENING, position)) >= 0:
        _append(parts, text[position:start].removesuffix("$") if _is_literal(text, start) else text[position:start])
        end = text.find(_CLOSING, start)
        if _is_literal(text, start):
            _append(parts, _OPENING)
            position = start + len(_OPENING)
        elif end < 0:
            problems.append(TemplateProblem(_OPENING, "'${{' has no closing '}}'", is_last=True))
            return tuple(parts), problems
        else:
            position = end + len(_CLOSING)
            _append_reference(text[start:position], parts, problems)
    _append(parts, text[position:])
    return tuple(parts), problems


def holds_reference(value: Any) -> bool:
    """Whether a value contains a reference, valid or not."""
    if isinstance(value, str):
        return _OPENING in value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(map(holds_reference, items))


def _is_literal(text: str, start: int) -> bool:
    return text[start - 1 : start] == "$"


def _append_reference(source: str, parts: list[str | Reference], problems: list[TemplateProblem]) -> None:
    inside = source[len(_OPENING) : -len(_CLOSING)]
    reference = _REFERENCE.fullmatch(inside)
    if reference and reference[1] in NAMESPACES:
        parts.append(Reference(reference[1], reference[2], source))
    else:
        problems.append(TemplateProblem(source, f"'{inside.strip()}' is not a reference"))


def _append(parts: list[str | Reference], text: str) -> None:
    if not text:
        return
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    else:
        parts.append(text)
