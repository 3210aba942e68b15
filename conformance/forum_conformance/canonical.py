"""RFC 8785 forms of lines, which have only integers, and of bodies, which have any JSON number."""

import hashlib
import json
import re
from typing import Any, NoReturn

import rfc8785

MAX_INTEGER = 2**53 - 1
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
    """The value whose RFC 8785 form the bytes are."""
    try:
        text = data.decode("utf-8")
        if depth(text) > MAX_DEPTH:
            raise NotCanonical(f"it is nested more than {MAX_DEPTH} levels deep")
        value = json.loads(text, parse_int=_integer, parse_constant=refuse_constant)
        written = form(value)
    except ValueError as error:
        raise NotCanonical(str(error)) from error
    if written != data:
        raise NotCanonical("the bytes are not in RFC 8785 form")
    return value


def strings(text: str) -> list[str]:
    """The strings of a JSON text as written, including keys and the values of repeated keys."""
    return _STRING.findall(text)


def depth(text: str) -> int:
    """The nesting depth of a JSON text. For text that is not JSON the result is unspecified."""
    deepest = level = 0
    for bracket in re.findall(r"[\[\]{}]", _STRING.sub("", text)):
        level += 1 if bracket in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def depth_of(value: Any) -> int:
    """The nesting depth of a value, computed without recursion, so that any depth works."""
    deepest = 0
    layer = [value]
    while layer := [part for part in layer if isinstance(part, list | dict)]:
        deepest += 1
        layer = [inner for part in layer for inner in (part.values() if isinstance(part, dict) else part)]
    return deepest


def refuse_constant(name: str) -> NoReturn:
    """Reject NaN and Infinity, which Python's parser accepts."""
    raise ValueError(f"{name} is not JSON")


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject repeated keys; Python's parser silently takes the last one."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is repeated")
    return members


def _integer(digits: str) -> int:
    # Check the length first: Python refuses to parse very long integers, with another message.
    if len(digits) > 17 or abs(int(digits)) > MAX_INTEGER:
        raise NotCanonical("an integer is not within ±(2^53 - 1)")
    return int(digits)
