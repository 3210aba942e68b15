"""List the members of the first object of a JSON text that may be cut, broken or endless."""

import json
import re
from collections.abc import Iterator

_PART = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


def first_members(text: str) -> set[str]:
    """The names of the direct members of the object at the beginning of a text, as far as the text goes."""
    return set(_members(text)) if text.lstrip("\ufeff \t\r\n").startswith("{") else set()


def _members(text: str) -> Iterator[str]:
    depth = 0
    before = ""
    for found in _PART.finditer(text):
        part = found[0]
        if part in "{[":
            depth += 1
        elif part in "}]":
            depth -= 1
            if depth <= 0:
                return
        elif part == ":" and depth == 1 and before.startswith('"'):
            yield _name(before)
        before = part


def _name(string: str) -> str:
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return string[1:-1]
