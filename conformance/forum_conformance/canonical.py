"""The canonical form of JSON (RFC 8785): write it, and read it strictly."""

import hashlib
import json
import re
from typing import Any, NoReturn

import rfc8785

MAX_INTEGER = 2**53 - 1
# A sign and 16 digits. Check the length before parsing: Python refuses very long integers, with a different message.
MAX_INTEGER_LENGTH = 17
MAX_DEPTH = 254

# An unterminated string is matched up to the end: trying each of its quotes again would take quadratic time.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)


class NotCanonical(ValueError):
    """Bytes that are not the RFC 8785 form of a value."""


def form(value: Any) -> bytes:
    return rfc8785.dumps(value)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_form(data: bytes) -> Any:
    """The value of bytes in RFC 8785 form. Raises NotCanonical for all other bytes."""
    try:
        text = data.decode("utf-8")
        if text_depth(text) > MAX_DEPTH:
            raise NotCanonical(f"it is nested more than {MAX_DEPTH} levels deep")
        value = json.loads(text, parse_int=_parse_integer, parse_constant=refuse_constant)
        expected = form(value)
    except ValueError as error:
        raise NotCanonical(str(error)) from error
    if expected != data:
        raise NotCanonical("the bytes are not in RFC 8785 form")
    return value


def strings(text: str) -> list[str]:
    """The strings of a JSON text as written, including keys and the values of repeated keys."""
    return _STRING.findall(text)


def text_depth(text: str) -> int:
    """The nesting depth of a JSON text. For text that is not JSON the result is unspecified."""
    deepest = level = 0
    for bracket in re.findall(r"[\[\]{}]", _STRING.sub("", text)):
        level += 1 if bracket in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def value_depth(value: Any) -> int:
    """The nesting depth of a value, computed without recursion, so that any depth works."""
    deepest = 0
    layer = [value]
    while layer := [item for item in layer if isinstance(item, list | dict)]:
        deepest += 1
        layer = [inner for item in layer for inner in (item.values() if isinstance(item, dict) else item)]
    return deepest


def refuse_constant(name: str) -> NoReturn:
    """Reject NaN and Infinity, which Python's parser accepts."""
    raise ValueError(f"{name} is not JSON")


def reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject repeated keys; Python's parser silently takes the last one."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is repeated")
    return members


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_INTEGER_LENGTH or abs(int(digits)) > MAX_INTEGER:
        raise NotCanonical("an integer is not within ±(2^53 - 1)")
    return int(digits)
