"""Level 1: check one line. A line has at most one finding."""

import json
from typing import Any, TypeAlias

from forum_conformance import canonical, schemas
from forum_conformance.finding import Finding
from forum_conformance.lines import MAX_LINE_BYTES, Line

Entry: TypeAlias = dict[str, Any]

MAX_DEPTH = 64
_MAX_SHOWN_DIGITS = 40


def read_entry(line: Line) -> Entry | Finding:
    """The entry of a line, or the first finding that applies."""
    if line.content is None:
        return Finding("L101", line.number, f"the line has more than {MAX_LINE_BYTES} bytes")
    try:
        entry, bad_numbers = read_object(line.content)
    except ValueError as error:
        return Finding("L102", line.number, f"the line is not one JSON object in UTF-8: {error}")
    if bad_numbers:
        return Finding("L103", line.number, f"{bad_numbers[0]} is not an integer within ±(2^53 - 1)")
    if canonical.form(entry) != line.content:
        return Finding("L104", line.number, "the line is not in RFC 8785 form")
    return _check_schema(line.number, entry)


class _Numbers:
    """Parses numbers. Collects bad ones instead of raising, because L102 takes precedence over L103."""

    def __init__(self) -> None:
        self.bad: list[str] = []

    def parse_integer(self, digits: str) -> float:
        if len(digits) > canonical.MAX_INTEGER_LENGTH or abs(int(digits)) > canonical.MAX_INTEGER:
            return self.reject(digits)
        return int(digits)

    def reject(self, digits: str) -> float:
        self.bad.append(digits if len(digits) <= _MAX_SHOWN_DIGITS else digits[:_MAX_SHOWN_DIGITS] + "...")
        return float(digits)


def read_object(content: bytes) -> tuple[dict[str, Any], list[str]]:
    """The value of a line and its forbidden numbers. Raises ValueError if the line violates LEDGER-LINE-003."""
    numbers = _Numbers()
    text = content.decode("utf-8")
    if canonical.text_depth(text) > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    value = json.loads(
        text, parse_int=numbers.parse_integer, parse_float=numbers.reject, parse_constant=canonical.refuse_constant
    )
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    if "\\u" in text:
        _refuse_lone_surrogates(text)
    return value, numbers.bad


def _refuse_lone_surrogates(text: str) -> None:
    """Check the strings of the text, not those of the parsed value: it lacks the first value of a repeated key."""
    for string in canonical.strings(text):
        try:
            json.loads(string).encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError("a string contains a lone surrogate") from error


def _check_schema(number: int, entry: Entry) -> Entry | Finding:
    kind = entry.get("kind")
    is_known = isinstance(kind, str) and kind in schemas.known_kinds()
    mismatch = schemas.schema_mismatch(schemas.entry_validator(kind if is_known else None), entry)
    if mismatch:
        return Finding("L105", number, f"the entry does not match its schema {mismatch}")
    if not is_known and not entry["kind"].startswith("x-"):
        return Finding("L106", number, f"unknown kind '{kind}'")
    return entry
