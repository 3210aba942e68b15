"""List the members of the first object of a JSON text, which may be truncated or malformed."""

import json
import re
from collections.abc import Iterator

_LEXEME = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


def first_members(text: str) -> set[str]:
    """The names of the direct members of the object at the beginning of a text, as far as the text goes."""
    return set(_members(text)) if text.lstrip("\ufeff \t\r\n").startswith("{") else set()


def _members(text: str) -> Iterator[str]:
    depth = 0
    previous = ""
    for match in _LEXEME.finditer(text):
        lexeme = match[0]
        if lexeme in "{[":
            depth += 1
        elif lexeme in "}]":
            depth -= 1
            if depth <= 0:
                return
        elif lexeme == ":" and depth == 1 and previous.startswith('"'):
            yield _name(previous)
        previous = lexeme


def _name(string: str) -> str:
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return string[1:-1]
