"""Reads values of OTLP JSON: attributes, times and integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forum_runner.canonical import MAX_INTEGER
from forum_runner.importing.imported_record import format_microseconds

_NANOSECONDS_PER_MICROSECOND = 1_000


class OtlpError(ValueError):
    """A part of a trace is not valid OTLP."""


def attributes_of(record: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a resource, a span, an event or a log record, by their keys."""
    attributes: dict[str, Any] = {}
    for item in objects(record, "attributes"):
        key = item.get("key")
        if not isinstance(key, str):
            raise OtlpError("an attribute has no key")
        attributes[key] = value_of(item.get("value"))
    return attributes


def value_of(value: Any) -> Any:
    """An OTLP value as a JSON value; None if it is empty. Integers may be written as strings."""
    if value is None or value == {}:
        return None
    if not isinstance(value, dict) or len(value) != 1:
        raise OtlpError("a value does not have the form {type: value}")
    kind, inner = next(iter(value.items()))
    if kind == "intValue":
        return integer(inner)
    if kind == "arrayValue":
        return [value_of(item) for item in _values(inner)]
    if kind == "kvlistValue":
        return {str(item.get("key")): value_of(item.get("value")) for item in _values(inner)}
    if kind not in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        raise OtlpError(f"unknown value type '{kind[:40]}'")
    return inner


def _values(inner: Any) -> list[Any]:
    values = inner.get("values", []) if isinstance(inner, dict) else None
    if not isinstance(values, list):
        raise OtlpError("an arrayValue or kvlistValue is not an object with a list of 'values'")
    return values


def objects(record: dict[str, Any], *names: str) -> Iterator[dict[str, Any]]:
    """The objects in the lists with these names. A missing list counts as empty."""
    for name in names:
        items = record.get(name)
        if items is None:
            continue
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise OtlpError(f"'{name}' is not a list of objects")
        yield from items


def integer(value: Any) -> int:
    """A 64-bit integer. proto3 JSON writes it as a string, but accepts numbers too."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal() and value.isascii():
        return int(value)
    raise OtlpError(f"{str(value)[:40]!r} is not an integer")


def nanoseconds(record: dict[str, Any], *names: str) -> int:
    """The first of these times that is present and not 0. If there is none, 0."""
    return next((time for name in names if (time := integer(record.get(name, 0)))), 0)


def format_nanoseconds(moment_ns: int) -> str | None:
    """Formats nanoseconds since 1970 like the times in entries; None if the time is 0 or out of range."""
    return format_microseconds(moment_ns // _NANOSECONDS_PER_MICROSECOND) if moment_ns else None


def as_json(value: Any, key: str = "") -> Any:
    """The value with OTLP's 64-bit integers as strings. Other integers must be in the range of JSON."""
    if isinstance(value, dict):
        return {name: as_json(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if type(value) is not int:
        return value
    if key == "intValue" or key.endswith("UnixNano"):
        return str(value)
    if abs(value) > MAX_INTEGER:
        raise OtlpError(f"{value} is outside the range ±(2^53 - 1), where JSON parsers agree on the value")
    return value
