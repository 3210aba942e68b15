"""`${{ ... }}` in text: references only, never logic. `$${{` stands for the characters themselves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.model import Reference, Text

NAMESPACES = ("inputs", "matrix", "needs", "run")

REFERENCE_HINT = "only references are read: inputs.x, matrix.x, needs.x, run.id; '$${{' is literal"

_OPENING = "${{"
_CLOSING = "}}"
_REFERENCE = re.compile(r"[ \t\r\n]*([A-Za-z_]+)\.([A-Za-z][A-Za-z0-9_-]*)[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """`is_last`: of several pieces of text that are written alike, the last one is meant."""

    written: str
    message: str
    is_last: bool = False


def parse_text(text: str) -> tuple[Text, list[TemplateProblem]]:
    """The text in parts. What is not a reference is left out, and told as a problem."""
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
            problems.append(TemplateProblem(_OPENING, "'${{' is never closed with '}}'", is_last=True))
            return tuple(parts), problems
        else:
            position = end + len(_CLOSING)
            _take(text[start:position], parts, problems)
    _append(parts, text[position:])
    return tuple(parts), problems


def holds_reference(value: Any) -> bool:
    """Whether a reference, sound or not, stands anywhere in a value."""
    if isinstance(value, str):
        return _OPENING in value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(map(holds_reference, items))


def _is_literal(text: str, start: int) -> bool:
    return text[start - 1 : start] == "$"


def _take(written: str, parts: list[str | Reference], problems: list[TemplateProblem]) -> None:
    inside = written[len(_OPENING) : -len(_CLOSING)]
    reference = _REFERENCE.fullmatch(inside)
    if reference and reference[1] in NAMESPACES:
        parts.append(Reference(reference[1], reference[2], written))
    else:
        problems.append(TemplateProblem(written, f"'{inside.strip()}' is not a reference"))


def _append(parts: list[str | Reference], text: str) -> None:
    if not text:
        return
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    else:
        parts.append(text)
