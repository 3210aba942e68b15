"""Parses `${{ ... }}` in text: references only, no expressions. `$${{` stands for a literal `${{`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.document import Path
from forum_runner.model import Reference, Text

NAMESPACES = ("inputs", "matrix", "needs", "run")

REFERENCE_HINT = "write inputs.x, matrix.x, needs.x or run.id; '$${{' is a literal '${{'"

_TOKEN = re.compile(r"(?P<escape>\$\$\{\{)|\$\{\{(?P<inside>.*?)\}\}|(?P<unclosed>\$\{\{)", re.DOTALL)
_REFERENCE = re.compile(r"[ \t\r\n]*([A-Za-z_]+)\.([A-Za-z][A-Za-z0-9_-]*)[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """An invalid reference. `source` is its text; with `is_last`, the last occurrence of `source` is meant."""

    source: str
    message: str
    is_last: bool = False


def parse_text(text: str) -> tuple[Text, list[TemplateProblem]]:
    """Splits text into literals and references. Invalid references are left out and returned as problems."""
    parts: list[str | Reference] = []
    problems: list[TemplateProblem] = []
    literal, position = "", 0
    for token in _TOKEN.finditer(text):
        literal += text[position : token.start()]
        position = token.end()
        inside = token["inside"]
        reference = _REFERENCE.fullmatch(inside) if inside is not None else None
        if token["escape"]:
            literal += "${{"
        elif token["unclosed"]:
            problems.append(TemplateProblem("${{", "'${{' has no closing '}}'", is_last=True))
            position = len(text)
            break
        elif reference and reference[1] in NAMESPACES:
            parts += [literal, Reference(reference[1], reference[2], token[0])]
            literal = ""
        else:
            problems.append(TemplateProblem(token[0], f"'{inside.strip()}' is not a reference"))
    return tuple(part for part in (*parts, literal + text[position:]) if part), problems


def nested_texts(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The texts in a value that contain `${{`, at any depth, each with its path. The reference may be invalid."""
    if isinstance(value, str) and "${{" in value:
        yield path, value
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        yield from nested_texts(item, (*path, step))


def contains_reference(value: Any) -> bool:
    return any(True for _ in nested_texts(value))
