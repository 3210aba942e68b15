"""Level 1: each line by itself. A line that does not decode into a typed entry is checked rule by rule."""

from __future__ import annotations

import json
from typing import Any

from forum_runner.canonical import MAX_INTEGER, canonical
from forum_runner.errors import CanonicalError
from forum_runner.json_text import refuse_constant
from forum_runner.ledger.entries import KINDS, USER_PREFIX, AnyEntry
from forum_runner.ledger.entry_decoder import EntryDecoder, entry_of
from forum_runner.ledger.entry_schema import departure_from, entry_validator
from forum_runner.ledger.layout import MAX_DEPTH, MAX_LINE_BYTES
from forum_runner.ledger.lines import length_of


class LineFault(Exception):
    """A line that does not hold, with the code and the sentence of its finding."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)


class LineReader:
    """Turns lines into entries."""

    __slots__ = ("_decode",)

    def __init__(self) -> None:
        self._decode = EntryDecoder().decode

    def read(self, line: bytes, previous: str = "") -> AnyEntry:
        """The entry of a line; a `LineFault` if the line does not hold level 1. Quicker if `prev` is as expected."""
        return self._decode(line, previous) or entry_of(check_line(line))


def check_line(line: bytes) -> dict[str, Any]:
    """Checks the rules in the order of the specification; the first that is broken is the `LineFault`."""
    if length_of(line) > MAX_LINE_BYTES:
        raise LineFault("L101", f"the line has {length_of(line):,} bytes, and {MAX_LINE_BYTES:,} are allowed")
    entry, refused = read_object(line)
    if refused:
        shown = refused[0] if len(refused[0]) <= 40 else f"{refused[0][:40]}..."
        raise LineFault("L103", f"{shown} is not an integer within ±(2^53 - 1)")
    try:
        is_canonical = canonical(entry) == line
    except CanonicalError as error:
        raise LineFault("L102", f"the line is not JSON in UTF-8: {error}") from error
    if not is_canonical:
        raise LineFault("L104", "the line is not in RFC 8785 form")
    kind = entry.get("kind")
    is_known = isinstance(kind, str) and kind in KINDS
    departure = departure_from(entry_validator(str(kind) if is_known else USER_PREFIX), entry)
    if departure is not None:
        raise LineFault("L105", f"the entry does not fit its schema: {departure}")
    if not is_known and not str(kind).startswith(USER_PREFIX):
        raise LineFault("L106", f"'{kind}' is not a known kind of entry")
    return entry


def read_object(line: bytes) -> tuple[dict[str, Any], list[str]]:
    """The JSON object that a line is, and the numbers that no line may have; an L102 if it is none."""
    numbers: list[str] = []

    def fraction(text: str) -> float:
        numbers.append(text)
        return float(text)

    def integer(text: str) -> float:
        # Beyond 17 digits it is out of range, and a thousand of them would be slow to read.
        if len(text) > 17 or not -MAX_INTEGER <= int(text) <= MAX_INTEGER:
            return fraction(text)
        return int(text)

    try:
        text = line.decode()
        value = json.loads(text, parse_float=fraction, parse_int=integer, parse_constant=refuse_constant)
        _check_all_that_stands_in(text)
    except UnicodeDecodeError as error:
        raise LineFault("L102", f"the line is not UTF-8: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        raise LineFault("L102", f"the line is not JSON: {error}") from error
    except RecursionError as error:
        raise LineFault("L102", f"the line is nested more than {MAX_DEPTH} deep") from error
    if not isinstance(value, dict):
        raise LineFault("L102", "the line is JSON, but not an object")
    return value, numbers


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise LineFault("L102", f"the line is nested more than {MAX_DEPTH} deep")


def _check_all_that_stands_in(text: str) -> None:
    """Depth and lone surrogates, also of what the value does not show: what stands under a key that is given twice."""
    # Too deep it can only be with so many brackets, and a lone surrogate can only stand there as an escape.
    if text.count("[") + text.count("{") <= MAX_DEPTH and "\\u" not in text:
        return
    everything = json.loads(text, object_pairs_hook=_keys_and_values, parse_int=str, parse_float=str)
    if isinstance(everything, list):
        _check_depth(everything)
    try:
        json.dumps(everything, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise LineFault("L102", "the line has a lone surrogate, which is no character") from error


def _keys_and_values(pairs: list[tuple[str, Any]]) -> list[Any]:
    return [part for pair in pairs for part in pair]
