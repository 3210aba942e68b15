"""Level 1: checks a line that the decoder does not accept, rule by rule. The line may still be valid."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from forum_runner.canonical import MAX_INTEGER, canonical
from forum_runner.errors import CanonicalError
from forum_runner.json_text import refuse_constant
from forum_runner.ledger.entries import KINDS, USER_PREFIX, AnyEntry, Entry
from forum_runner.ledger.entry_schema import entry_validator, schema_violation
from forum_runner.ledger.layout import MAX_DEPTH, MAX_LINE_BYTES, is_too_deep
from forum_runner.ledger.lines import length_of
from forum_runner.ledger.verification.report import Violation

_MAX_SHOWN_DIGITS = 40
_TOO_DEEP = f"the line is nested more than {MAX_DEPTH} levels deep"


def check_line(line: bytes) -> AnyEntry:
    """The entry in a line. Raises a Violation for the first broken rule, in the order of the specification."""
    if length_of(line) > MAX_LINE_BYTES:
        raise Violation("L101", f"the line has {length_of(line):,} bytes; the maximum is {MAX_LINE_BYTES:,}")
    entry, bad_numbers = read_object(line)
    if bad_numbers:
        number = bad_numbers[0]
        shown = number if len(number) <= _MAX_SHOWN_DIGITS else f"{number[:_MAX_SHOWN_DIGITS]}..."
        raise Violation("L103", f"{shown} is not an integer within ±(2^53 - 1)")
    try:
        is_canonical = canonical(entry) == line
    except CanonicalError as error:
        raise Violation("L102", f"the line is not JSON in UTF-8: {error}") from error
    if not is_canonical:
        raise Violation("L104", "the line is not in RFC 8785 form")
    kind = entry.get("kind")
    data = KINDS.get(kind) if isinstance(kind, str) else None
    violation = schema_violation(entry_validator(USER_PREFIX if data is None else str(kind)), entry)
    if violation is not None:
        raise Violation("L105", f"the entry does not match its schema: {violation}")
    if data is None and not str(kind).startswith(USER_PREFIX):
        raise Violation("L106", f"unknown kind '{kind}'")
    typed: AnyEntry = msgspec.convert(entry, Entry[data or dict[str, Any]])  # type: ignore[misc]
    return typed


def read_object(line: bytes) -> tuple[dict[str, Any], list[str]]:
    """The JSON object in a line, and those of its numbers that are not integers within ±(2^53 - 1).

    Raises a Violation (L102) if the line is not a JSON object.
    """
    bad_numbers: list[str] = []

    def parse_bad_number(text: str) -> float:
        bad_numbers.append(text)
        return float(text)

    def parse_integer(text: str) -> float:
        # More than 17 characters are out of range, and int() is slow for thousands of digits.
        if len(text) > 17 or not -MAX_INTEGER <= int(text) <= MAX_INTEGER:
            return parse_bad_number(text)
        return int(text)

    try:
        text = line.decode()
        value = json.loads(text, parse_float=parse_bad_number, parse_int=parse_integer, parse_constant=refuse_constant)
        _check_depth_and_surrogates(text)
    except UnicodeDecodeError as error:
        raise Violation("L102", f"the line is not UTF-8: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        raise Violation("L102", f"the line is not JSON: {error}") from error
    except RecursionError as error:
        raise Violation("L102", _TOO_DEEP) from error
    if not isinstance(value, dict):
        raise Violation("L102", "the line is JSON, but not an object")
    return value, bad_numbers


def _check_depth_and_surrogates(text: str) -> None:
    """Refuses deep nesting and lone surrogates, also in values that the parser drops because their key is repeated."""
    # Only a line with many brackets can be too deep, and only an escape can be a lone surrogate.
    if text.count("[") + text.count("{") <= MAX_DEPTH and "\\u" not in text:
        return
    everything = json.loads(text, object_pairs_hook=_keys_and_values, parse_int=str, parse_float=str)
    if is_too_deep(everything):
        raise Violation("L102", _TOO_DEEP)
    try:
        json.dumps(everything, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Violation("L102", "the line contains a lone surrogate, which cannot be encoded as UTF-8") from error


def _keys_and_values(pairs: list[tuple[str, Any]]) -> list[Any]:
    return [part for pair in pairs for part in pair]
