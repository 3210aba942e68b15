"""Differences between expected and actual answers, for people."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from forum_conformance.suite.display import escape, to_json
from forum_conformance.suite.expectation import LEVELS

_LONGEST_LINE = 2000
_LONGEST_FILE = 200
_CONTEXT_BYTES = 100
_HEX_BEFORE = 4
_HEX_AFTER = 8
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Difference:
    place: str
    expected: str
    came: str


def answer_differences(expected: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Difference]:
    """`expected` comes from `expected_answer`; omitted members mean no findings."""
    actual = {"codes": [], "warnings": [], "first_bad_seq": None, "status": None, **answer}
    plain = {name: value for name, value in expected.items() if name != "levels"}
    found = [
        Difference(name, to_json(value), to_json(actual[name]))
        for name, value in plain.items()
        if actual[name] != value
    ]
    return [*found, *_level_differences(expected.get("levels", {}), answer.get("levels"))]


def _level_differences(expected: Mapping[str, str], actual: Mapping[str, str] | None) -> Iterator[Difference]:
    if actual is None:
        return
    for number in LEVELS if expected else ():
        came = actual.get(number, "not checked")
        if came != expected[number]:
            yield Difference(f"level {number}", expected[number], came)


def byte_difference(place: str, expected: bytes, came: bytes) -> Difference | None:
    """The first byte where two files differ, with its context."""
    if expected == came:
        return None
    at = _first(expected, came)
    shown = _around(expected, came, _LONGEST_FILE)
    # Two texts may look the same, and bytes may not be text: hex is unambiguous.
    return Difference(f"{place}, byte {at}", shown.expected + _hex(expected, at), shown.came + _hex(came, at))


def line_difference(place: str, expected: bytes, came: bytes) -> Difference | None:
    """The first line where two files differ."""
    ours, theirs = _LINE.findall(expected), _LINE.findall(came)
    pairs = enumerate(zip_longest(ours, theirs), start=1)
    number, first, second = next(((n, a, b) for n, (a, b) in pairs if a != b), (0, None, None))
    if number == 0:
        return None
    if first is None or second is None:
        return Difference(f"{place}, line {number}", _end(first), _end(second))
    shown = _around(first.removesuffix(b"\n"), second.removesuffix(b"\n"), _LONGEST_LINE)
    if shown.expected == shown.came:
        ends = ("ends with LF" if line.endswith(b"\n") else "has no LF" for line in (first, second))
        return Difference(f"{place}, line {number}", *ends)
    return Difference(f"{place}, line {number}{shown.place}", shown.expected, shown.came)


def _end(line: bytes | None) -> str:
    return "the end" if line is None else _text(line[:_LONGEST_LINE].removesuffix(b"\n"))


def _around(expected: bytes, came: bytes, longest: int) -> Difference:
    """Both in full if short; otherwise the context of the first different byte."""
    if max(len(expected), len(came)) <= longest:
        return Difference("", _text(expected), _text(came))
    at = _first(expected, came)
    begin = max(0, at - _CONTEXT_BYTES)
    cut = ("..." if begin else "") + "{}"
    return Difference(
        f", byte {at}", *(cut.format(_text(data[begin : at + _CONTEXT_BYTES])) for data in (expected, came))
    )


def _first(expected: bytes, came: bytes) -> int:
    pairs = enumerate(zip(expected, came, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(expected), len(came)))


def _text(data: bytes) -> str:
    return escape(data) if data else "nothing"


def _hex(data: bytes, at: int) -> str:
    begin = max(0, at - _HEX_BEFORE)
    part = data[begin : at + _HEX_AFTER]
    return f" (from byte {begin} in hex: {part.hex(' ')})" if part else ""


def value_difference(place: str, expected: Any, came: Any) -> Difference | None:
    """The first place where two JSON values differ, as a JSON Pointer. 1.0 is not an integer."""
    if isinstance(expected, dict) and isinstance(came, dict):
        for key in sorted(expected.keys() | came.keys()):
            if key not in came or key not in expected:
                ours, theirs = (to_json(side[key]) if key in side else "missing" for side in (expected, came))
                return Difference(f"{place}/{key}", ours, theirs)
            if found := value_difference(f"{place}/{key}", expected[key], came[key]):
                return found
        return None
    if isinstance(expected, list) and isinstance(came, list) and len(expected) == len(came):
        pairs = enumerate(zip(expected, came, strict=True))
        return next((found for n, (a, b) in pairs if (found := value_difference(f"{place}/{n}", a, b))), None)
    # In Python, True and 1.0 equal 1.
    is_same = expected == came and type(expected) is type(came)
    return None if is_same else Difference(place, to_json(expected), to_json(came))
