"""`${{ ... }}` in text: references only, never logic. `$${{` stands for the characters themselves."""

import re
from dataclasses import dataclass

from forum_runner.model import Reference, Text

NAMESPACES = ("inputs", "matrix", "needs", "run")

REFERENCE_HINT = "only references are read: inputs.x, matrix.x, needs.x, run.id; '$${{' is literal"

_OPENING = "${{"
_TOKEN = re.compile(r"\$\$\{\{|\$\{\{(.*?)\}\}|\$\{\{", re.DOTALL)
_REFERENCE = re.compile(r"\s*([A-Za-z_]+)\.([A-Za-z][A-Za-z0-9_-]*)\s*")


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """`is_last`: of several pieces of text that are written alike, the last one is meant."""

    written: str
    message: str
    is_last: bool = False


def parse_text(text: str) -> tuple[Text, list[TemplateProblem]]:
    """The text in parts. What is not a reference stays in the text, and is told as a problem."""
    if _OPENING not in text:
        return (text,) if text else (), []
    parts: list[str | Reference] = []
    problems: list[TemplateProblem] = []
    end = 0
    for match in _TOKEN.finditer(text):
        _append(parts, text[end : match.start()])
        end = match.end()
        if match[0].startswith("$$"):
            _append(parts, _OPENING)
        elif match[1] is None:
            problems.append(TemplateProblem(match[0], "'${{' is never closed with '}}'", is_last=True))
        elif (reference := _REFERENCE.fullmatch(match[1])) and reference[1] in NAMESPACES:
            parts.append(Reference(reference[1], reference[2], match[0]))
        else:
            problems.append(TemplateProblem(match[0], f"'{match[1].strip()}' is not a reference"))
    _append(parts, text[end:])
    return tuple(parts), problems


def _append(parts: list[str | Reference], text: str) -> None:
    if not text:
        return
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    else:
        parts.append(text)
