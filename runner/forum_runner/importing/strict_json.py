"""Reads JSON strictly and locates values that a ledger cannot store.

Duplicate keys, NaN, lone surrogates and numbers out of range are refused, because readers disagree on their value. The
fast parser reads the text. Only refused text is scanned a second time, to find the location.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from forum_runner.canonical import MAX_INTEGER
from forum_runner.importing.source_error import SourceError
from forum_runner.json_text import refuse_constant, without_duplicate_keys

# The length of a 64-bit integer; Python itself sets no limit.
_MAX_DIGITS = 20
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_INTEGER = re.compile(r"-?[0-9]+")


class _RefusedError(Exception):
    """The text contains an unsupported value; a second pass locates it."""


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON text, its file, and the number of its first line."""

    file: str
    data: bytes
    line: int = 1


def read_json(text: JsonText, *, is_wide: bool = False) -> Any:
    """Parses a text. `is_wide` allows 64-bit integers, which some formats write as numbers."""
    try:
        characters = text.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(text.file, f"line {text.line}", f"byte {error.start} is not UTF-8") from error
    try:
        value = json.loads(
            characters,
            object_pairs_hook=without_duplicate_keys,
            parse_int=_wide_integer if is_wide else _integer,
            parse_float=_finite_float,
            parse_constant=refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise SourceError(text.file, _location(text, characters, error.pos), _description(error, characters)) from error
    except RecursionError as error:
        raise SourceError(text.file, f"line {text.line}", "nested too deeply") from error
    except (_RefusedError, ValueError) as error:
        offset, sentence = _first_fault(characters, is_wide=is_wide) or (0, "invalid JSON")
        raise SourceError(text.file, _location(text, characters, offset), sentence) from error
    if _SURROGATE.search(characters) and (fault := _first_fault(characters, is_wide=is_wide)):
        raise SourceError(text.file, _location(text, characters, fault[0]), fault[1])
    return value


def _description(error: json.JSONDecodeError, characters: str) -> str:
    if error.msg.startswith("Unterminated string"):
        return "truncated: a string is not closed"
    if error.pos >= len(characters.rstrip()):
        return "truncated: the JSON text ends too early"
    return f"invalid JSON: {error.msg[0].lower()}{error.msg[1:]}"


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS or abs(int(digits)) > MAX_INTEGER:
        raise _RefusedError
    return int(digits)


def _wide_integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise _RefusedError
    return int(digits)


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _RefusedError
    return number


@dataclass(slots=True)
class _Level:
    """An open object or array, and the keys of the object so far."""

    is_object: bool
    keys: set[str] = field(default_factory=set)
    expects_key: bool = True


def _first_fault(characters: str, *, is_wide: bool) -> tuple[int, str] | None:
    """The offset and the description of the first unsupported value."""
    levels: list[_Level] = []
    for match in JSON_TOKEN.finditer(characters):
        lexeme = match[0]
        sentence = _string_fault(lexeme, levels) if lexeme[0] == '"' else _number_fault(lexeme, is_wide=is_wide)
        if sentence:
            return match.start(), sentence
        _update_levels(lexeme, levels)
    return None


def _update_levels(lexeme: str, levels: list[_Level]) -> None:
    if lexeme in "{[":
        levels.append(_Level(lexeme == "{"))
    elif lexeme in "}]" and levels:
        levels.pop()
    elif lexeme in ":," and levels:
        levels[-1].expects_key = lexeme == ","


def _string_fault(lexeme: str, levels: list[_Level]) -> str | None:
    string = json.loads(lexeme, strict=False)
    if any("\ud800" <= letter <= "\udfff" for letter in string):
        return "a string contains a lone surrogate"
    if levels and levels[-1].is_object and levels[-1].expects_key:
        if string in levels[-1].keys:
            return f"duplicate key '{_shorten(string)}'"
        levels[-1].keys.add(string)
    return None


def _number_fault(lexeme: str, *, is_wide: bool) -> str | None:
    if lexeme in ("NaN", "Infinity", "-Infinity"):
        return f"{lexeme} is not JSON"
    if _INTEGER.fullmatch(lexeme):
        is_out_of_range = len(lexeme) > _MAX_DIGITS or (not is_wide and abs(int(lexeme)) > MAX_INTEGER)
        return (
            f"{_shorten(lexeme)} is outside ±(2^53 - 1), so JSON readers disagree on its value"
            if is_out_of_range
            else None
        )
    if lexeme[0] in "-0123456789" and not _is_finite(lexeme):
        return f"{_shorten(lexeme)} is not a finite number"
    return None


def _is_finite(lexeme: str) -> bool:
    try:
        return math.isfinite(float(lexeme))
    except ValueError:
        return True


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def _location(text: JsonText, characters: str, offset: int) -> str:
    line = text.line + characters.count("\n", 0, offset)
    return f"line {line}, column {offset - characters.rfind(chr(10), 0, offset)}"
