"""Differences between expected and actual answers and files, described for people."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from forum_conformance.suite.display import escape, to_json
from forum_conformance.suite.expectation import LEVELS

# Longer lines and files are shown only around the first different byte.
_MAX_LINE_BYTES = 2000
_MAX_FILE_BYTES = 200
_CONTEXT_BYTES = 100
_HEX_BYTES_BEFORE = 4
_HEX_BYTES_AFTER = 8
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Difference:
    place: str
    expected: str
    actual: str


def answer_differences(expected: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Difference]:
    """The members that differ. `expected` comes from `expected_answer`; members that an answer omits have defaults."""
    actual = {"codes": [], "warnings": [], "first_bad_seq": None, "status": None, **answer}
    differences = [
        Difference(name, to_json(value), to_json(actual[name]))
        for name, value in expected.items()
        if name != "levels" and actual[name] != value
    ]
    return [*differences, *_level_differences(expected.get("levels", {}), answer.get("levels"))]


def _level_differences(expected: Mapping[str, str], actual: Mapping[str, str] | None) -> Iterator[Difference]:
    if actual is None:
        return
    for number in LEVELS if expected else ():
        status = actual.get(number, "not checked")
        if status != expected[number]:
            yield Difference(f"level {number}", expected[number], status)


def byte_difference(place: str, expected: bytes, actual: bytes) -> Difference | None:
    """The first byte where two files differ, with its context; None if they are equal."""
    if expected == actual:
        return None
    offset = _first_difference(expected, actual)
    excerpts = _excerpts(expected, actual, _MAX_FILE_BYTES)
    # Two texts may look the same, and bytes may not be text: hex is unambiguous.
    return Difference(
        f"{place}, byte {offset}",
        excerpts.expected + _hex(expected, offset),
        excerpts.actual + _hex(actual, offset),
    )


def line_difference(place: str, expected: bytes, actual: bytes) -> Difference | None:
    """The first line where two files differ; None if they are equal."""
    pairs = enumerate(zip_longest(_LINE.findall(expected), _LINE.findall(actual)), start=1)
    number, first, second = next(((n, a, b) for n, (a, b) in pairs if a != b), (0, None, None))
    if number == 0:
        return None
    if first is None or second is None:
        return Difference(f"{place}, line {number}", _line_or_end(first), _line_or_end(second))
    excerpts = _excerpts(first.removesuffix(b"\n"), second.removesuffix(b"\n"), _MAX_LINE_BYTES)
    if excerpts.expected == excerpts.actual:
        ends = ("ends with LF" if line.endswith(b"\n") else "has no LF" for line in (first, second))
        return Difference(f"{place}, line {number}", *ends)
    return Difference(f"{place}, line {number}{excerpts.place}", excerpts.expected, excerpts.actual)


def _line_or_end(line: bytes | None) -> str:
    return "the end of the file" if line is None else _text(line[:_MAX_LINE_BYTES].removesuffix(b"\n"))


def _excerpts(expected: bytes, actual: bytes, max_bytes: int) -> Difference:
    """Both in full if short; otherwise the context of the first different byte, with that byte as the place."""
    if max(len(expected), len(actual)) <= max_bytes:
        return Difference("", _text(expected), _text(actual))
    offset = _first_difference(expected, actual)
    start = max(0, offset - _CONTEXT_BYTES)
    ellipsis = "..." if start else ""
    texts = (ellipsis + _text(data[start : offset + _CONTEXT_BYTES]) for data in (expected, actual))
    return Difference(f", byte {offset}", *texts)


def _first_difference(expected: bytes, actual: bytes) -> int:
    """The offset of the first different byte."""
    pairs = enumerate(zip(expected, actual, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(expected), len(actual)))


def _text(data: bytes) -> str:
    return escape(data) if data else "nothing"


def _hex(data: bytes, offset: int) -> str:
    start = max(0, offset - _HEX_BYTES_BEFORE)
    part = data[start : offset + _HEX_BYTES_AFTER]
    return f" (from byte {start} in hex: {part.hex(' ')})" if part else ""


def value_difference(place: str, expected: Any, actual: Any) -> Difference | None:
    """The first place where two JSON values differ, as a JSON Pointer; None if they are equal. 1.0 differs from 1."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            if key not in actual or key not in expected:
                sides = (to_json(side[key]) if key in side else "missing" for side in (expected, actual))
                return Difference(f"{place}/{key}", *sides)
            if difference := value_difference(f"{place}/{key}", expected[key], actual[key]):
                return difference
        return None
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        differences = (value_difference(f"{place}/{n}", a, b) for n, (a, b) in pairs)
        return next((difference for difference in differences if difference), None)
    # In Python, True and 1.0 equal 1.
    is_same = expected == actual and type(expected) is type(actual)
    return None if is_same else Difference(place, to_json(expected), to_json(actual))
