"""Level 1: check one line. A line has at most one finding, the first that applies."""

import json
from typing import Any, TypeAlias

from forum_conformance import canonical, schemas
from forum_conformance.finding import Finding
from forum_conformance.lines import MAX_LINE_BYTES, Line

Entry: TypeAlias = dict[str, Any]

MAX_DEPTH = 64


def read_entry(line: Line) -> Entry | Finding:
    if line.content is None:
        return Finding("L101", line.number, f"the line has more than {MAX_LINE_BYTES} bytes")
    try:
        entry, refused = read_object(line.content)
    except ValueError as error:
        return Finding("L102", line.number, f"the line is not one JSON object in UTF-8: {error}")
    if refused:
        return Finding("L103", line.number, f"{refused[0]} is not an integer within ±(2^53 - 1)")
    if canonical.form(entry) != line.content:
        return Finding("L104", line.number, "the line is not in RFC 8785 form")
    return _in_form(line.number, entry)


class _Numbers:
    """Collect bad numbers instead of raising, because L102 takes precedence over L103."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def integer(self, digits: str) -> float:
        if len(digits) > 17 or abs(int(digits)) > canonical.MAX_INTEGER:
            return self.other(digits)
        return int(digits)

    def other(self, digits: str) -> float:
        self.refused.append(digits if len(digits) <= 40 else digits[:40] + "...")
        return float(digits)


def read_object(content: bytes) -> tuple[dict[str, Any], list[str]]:
    """The value of a line and its forbidden numbers. Raises ValueError if the line violates LEDGER-LINE-003."""
    numbers = _Numbers()
    text = content.decode("utf-8")
    if canonical.depth(text) > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    value = json.loads(
        text, parse_int=numbers.integer, parse_float=numbers.other, parse_constant=canonical.refuse_constant
    )
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    if "\\u" in text:
        _refuse_lone_surrogates(text)
    return value, numbers.refused


def _refuse_lone_surrogates(text: str) -> None:
    """Check the strings of the text, not of the value, which lacks the first value of a repeated key."""
    for string in canonical.strings(text):
        try:
            json.loads(string).encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError("a string contains a lone surrogate") from error


def _in_form(number: int, entry: Entry) -> Entry | Finding:
    kind = entry.get("kind")
    is_known = isinstance(kind, str) and kind in schemas.known_kinds()
    schema_mismatch = schemas.schema_mismatch(schemas.entry_validator(kind if is_known else None), entry)
    if schema_mismatch:
        return Finding("L105", number, f"the entry does not match its schema {schema_mismatch}")
    if not is_known and not entry["kind"].startswith("x-"):
        return Finding("L106", number, f"unknown kind '{kind}'")
    return entry
