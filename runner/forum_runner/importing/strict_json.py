"""Reads JSON strictly and locates values that a ledger cannot store.

Duplicate keys, NaN, lone surrogates and numbers out of range are refused, because readers disagree on their value.
Python's parser reads the text. Only refused text is scanned a second time, to find the location.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from forum_runner.canonical import MAX_INTEGER
from forum_runner.importing.source_error import SourceError
from forum_runner.json_text import refuse_constant, without_duplicate_keys

_MAX_64_BIT_LENGTH = 20
_MAX_QUOTED_LENGTH = 40
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_COLON = re.compile(r"\s*:")
JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON text, its file, and the number of its first line."""

    file: str
    data: bytes
    line: int = 1


def read_json(text: JsonText, *, has_64_bit_integers: bool = False) -> Any:
    """Parses a text. Integers must be within ±(2^53 - 1), unless the format writes 64-bit integers as numbers.

    Raises a SourceError with the location of the fault.
    """
    try:
        characters = text.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(text.file, f"line {text.line}", f"the byte at offset {error.start} is not UTF-8") from error
    parse: Callable[[str], Any] = partial(
        json.loads,
        object_pairs_hook=without_duplicate_keys,
        parse_int=_64_bit_integer if has_64_bit_integers else _integer,
        parse_float=_finite_float,
        parse_constant=refuse_constant,
    )
    try:
        value = parse(characters)
    except json.JSONDecodeError as error:
        raise SourceError(text.file, _location(text, characters, error.pos), _description(error, characters)) from error
    except RecursionError as error:
        raise SourceError(text.file, f"line {text.line}", "nested too deeply") from error
    except ValueError as error:
        offset, sentence = _first_fault(characters, parse) or (0, "invalid JSON")
        raise SourceError(text.file, _location(text, characters, offset), sentence) from error
    if _ESCAPED_SURROGATE.search(characters) and (fault := _first_fault(characters, parse)):
        raise SourceError(text.file, _location(text, characters, fault[0]), fault[1])
    return value


def _description(error: json.JSONDecodeError, characters: str) -> str:
    if error.msg.startswith("Unterminated string"):
        return "truncated: a string is not closed"
    if error.pos >= len(characters.rstrip()):
        return "truncated: the JSON text ends too early"
    return f"invalid JSON: {error.msg[0].lower()}{error.msg[1:]}"


def _integer(digits: str) -> int:
    if len(digits) > _MAX_64_BIT_LENGTH or abs(int(digits)) > MAX_INTEGER:
        raise ValueError(f"{_shorten(digits)} is outside the range ±(2^53 - 1), where JSON parsers agree on the value")
    return int(digits)


def _64_bit_integer(digits: str) -> int:
    if len(digits) > _MAX_64_BIT_LENGTH:
        raise ValueError(f"{_shorten(digits)} does not fit into 64 bits")
    return int(digits)


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{_shorten(digits)} is not a finite number")
    return number


def _first_fault(characters: str, parse: Callable[[str], Any]) -> tuple[int, str] | None:
    """The offset and the description of the first lone surrogate, duplicate key or value that `parse` refuses."""
    keys: list[set[str]] = []  # one set for each open object or array
    for match in JSON_TOKEN.finditer(characters):
        lexeme, offset = match[0], match.start()
        if lexeme in "{[":
            keys.append(set())
        elif lexeme in "}]":
            keys.pop()
        elif lexeme not in ":,":
            try:
                value = parse(lexeme)
            except ValueError as error:
                return offset, str(error)
            if isinstance(value, str) and _SURROGATE.search(value):
                return offset, "a string contains a lone surrogate"
            if isinstance(value, str) and _COLON.match(characters, match.end()):
                if value in keys[-1]:
                    return offset, f"duplicate key '{_shorten(value)}'"
                keys[-1].add(value)
    return None


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_QUOTED_LENGTH else f"{text[:_MAX_QUOTED_LENGTH]}..."


def _location(text: JsonText, characters: str, offset: int) -> str:
    line = text.line + characters.count("\n", 0, offset)
    return f"line {line}, column {offset - characters.rfind(chr(10), 0, offset)}"
