"""Encodes an entry as a line, and rejects one that could not be read back unchanged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson
from msgspec import Struct

from forum_runner.canonical import MAX_INTEGER, canonical
from forum_runner.errors import CanonicalError, ForumError
from forum_runner.ledger.entries import KINDS, MAX_BODIES, USER_PREFIX
from forum_runner.ledger.entry_schema import fits, parts_validator, schema_violation
from forum_runner.ledger.layout import MAX_CAUSES, MAX_DEPTH, MAX_LINE_BYTES

# A float such as 1.0 in orjson's output: JSON Schema accepts it as an integer, and rejects all other floats. A match
# inside a string only costs a second check.
_FLOAT = re.compile(rb"\.0[,\]}]")
_INTEGERS = frozenset({int})
_SORTED = orjson.OPT_SORT_KEYS
_dumps = orjson.dumps


class NewEntry(Struct, frozen=True):
    """An entry that has no seq yet."""

    kind: str
    data: Mapping[str, Any]
    bodies: Mapping[str, Any]
    causes: Sequence[int]
    actor: str


class EntryError(ForumError):
    """An entry is invalid and cannot be stored. Nothing is written."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"cannot store an entry of kind '{kind}': {reason}")


def encode_entry(entry: dict[str, Any]) -> bytes:
    """The line of an entry, without its LF. The members are in alphabetical order; `bodies` holds references."""
    kind, causes = entry["kind"], entry["causes"]
    try:
        entry["data"] = _checked(entry["seq"], entry["actor"], kind, causes, entry["data"], entry["bodies"])
    except (orjson.JSONEncodeError, CanonicalError, ValueError) as error:
        raise EntryError(kind, str(error)) from error
    entry["causes"] = sorted(set(causes))
    return encode_sound_entry(entry)


def encode_sound_entry(entry: dict[str, Any]) -> bytes:
    """Like `encode_entry`, for an entry that is known to be valid: schema and causes are not checked."""
    try:
        line = _dumps(entry, option=_SORTED)
    except orjson.JSONEncodeError as error:
        raise EntryError(entry["kind"], str(error)) from error
    if len(line) > MAX_LINE_BYTES:
        raise EntryError(entry["kind"], f"its line has {len(line):,} bytes; the maximum is {MAX_LINE_BYTES:,}")
    return line


def _checked(
    seq: int, actor: str, kind: str, causes: Sequence[int], data: Mapping[str, Any], bodies: Mapping[str, Any]
) -> orjson.Fragment:
    """The encoded data of an entry, after all its parts were checked."""
    is_own = _is_own(actor, kind)
    _check_causes(causes, seq, kind)
    return orjson.Fragment((_own_data if is_own else _data)(kind, data, bodies))


@lru_cache(maxsize=1024)
def _is_own(actor: str, kind: str) -> bool:
    """Whether the kind is a user kind. Rejects an invalid actor or kind."""
    if not fits("actor", actor):
        raise EntryError(kind, f"invalid actor {actor!r}: use `runner`, `agent:NAME` or `person:NAME`, without spaces")
    is_own = kind.startswith(USER_PREFIX) and fits("kind", kind)
    if not is_own and kind not in KINDS:
        raise EntryError(kind, "unknown kind; user-defined kinds start with 'x-'")
    return is_own


def _check_causes(causes: Sequence[int], seq: int, kind: str) -> None:
    if not isinstance(causes, list | tuple):
        raise EntryError(kind, "causes must be a list of the seqs of earlier entries")
    if not _INTEGERS.issuperset(map(type, causes)):
        raise EntryError(kind, "causes must be the seqs of earlier entries")
    if causes and (min(causes) < 0 or max(causes) >= seq or len(set(causes)) > MAX_CAUSES):
        raise EntryError(kind, f"causes must be at most {MAX_CAUSES:,} earlier entries")


def _data(kind: str, data: Mapping[str, Any], bodies: Mapping[str, Any]) -> bytes:
    validator = parts_validator(kind)
    parts = {"data": data, "bodies": bodies}
    if not validator.is_valid(parts):
        raise EntryError(kind, schema_violation(validator, parts) or "it does not match its schema")
    written = orjson.dumps(data, option=_SORTED)
    if _FLOAT.search(written):
        _check_values(kind, data)
    return written


def _own_data(kind: str, data: Mapping[str, Any], bodies: Mapping[str, Any]) -> bytes:
    """User kinds have any data. Checking their bodies in Python is faster than by schema."""
    if not isinstance(data, dict):
        raise EntryError(kind, f"its data is a {type(data).__name__}, not a dict")
    for name, body in bodies.items():
        _check_own_body(kind, name, body["type"])
    if len(bodies) > MAX_BODIES:
        raise EntryError(kind, f"it has {len(bodies)} bodies; the maximum is {MAX_BODIES}")
    has_plain_keys = _is_flat(data) or _check_values(kind, data)
    return orjson.dumps(data, option=_SORTED) if has_plain_keys else canonical(data)


@lru_cache(maxsize=1024)
def _check_own_body(kind: str, name: str, type_: str) -> None:
    if not fits("name", name):
        raise EntryError(kind, f"invalid body name {name!r}: use lower-case letters, digits and '_'")
    if not fits("type", type_):
        raise EntryError(kind, f"invalid media type {type_!r}: use one such as text/plain")


def _is_flat(data: Mapping[str, Any]) -> bool:
    """Whether the data holds only texts and integers in range, under ASCII keys, as most data does."""
    for key, value in data.items():
        if type(key) is not str or not key.isascii():
            return False
        if type(value) is not str and (type(value) is not int or not -MAX_INTEGER <= value <= MAX_INTEGER):
            return False
    return True


def _check_values(kind: str, data: Any) -> bool:
    """Rejects deep nesting and numbers other than integers in range. Returns whether all keys are ASCII."""
    has_plain_keys = True
    level = [data]
    depth = 1
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise EntryError(kind, f"its data is nested more than {MAX_DEPTH} levels deep")
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                if not all(type(key) is str for key in item):
                    raise EntryError(kind, "a key is not a string")
                has_plain_keys = has_plain_keys and "".join(item).isascii()
                below += [value for value in item.values() if type(value) is not str]
            elif isinstance(item, list):
                below += [value for value in item if type(value) is not str]
            else:
                _check_scalar(kind, item)
        level = below
    return has_plain_keys


def _check_scalar(kind: str, value: Any) -> None:
    if value is None or type(value) in (bool, str):
        return
    if type(value) is not int:
        raise EntryError(
            kind, f"{value!r} is a {type(value).__name__}: data holds text, integers, true, false and null"
        )
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise EntryError(kind, f"{value} is outside ±(2^53 - 1): other readers may see a different number")
