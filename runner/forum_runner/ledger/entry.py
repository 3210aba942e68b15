"""Encodes an entry as a line, and rejects entries that would fail level 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson
from msgspec import Struct

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError, ForumError
from forum_runner.ledger.entries import KINDS, MAX_BODIES, USER_PREFIX, AnyEntry
from forum_runner.ledger.entry_decoder import EntryDecoder
from forum_runner.ledger.entry_values import Actor, BodyName, Kind, MediaType, fits
from forum_runner.ledger.layout import MAX_CAUSES, MAX_LINE_BYTES
from forum_runner.ledger.verification.bytes_level import check_line
from forum_runner.ledger.verification.report import Violation

_CAUSE_TYPES = frozenset({int})
_FLAT_TYPES = frozenset({str, int, bool, type(None)})
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER


class NewEntry(Struct, frozen=True):
    """An entry before it has a seq, a time and a hash. `bodies` has the bodies themselves, by name."""

    kind: str
    data: Mapping[str, Any]
    bodies: Mapping[str, Any]
    causes: Sequence[int]
    actor: str


class EntryError(ForumError):
    """The entry is invalid. Nothing was written."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"cannot store an entry of kind '{kind}': {reason}")


class EntryEncoder:
    """Encodes the entries of one writer. The members of an entry are in alphabetical order."""

    def __init__(self) -> None:
        self._decode = EntryDecoder().decode

    def encode(self, entry: dict[str, Any]) -> bytes:
        """The line of an entry, without LF. Raises an EntryError if the line would fail level 1."""
        entry["causes"] = _sorted_causes(entry)
        line = _encode(entry)
        if not line.isascii():
            line = _encode_by_rules(entry)
        elif len(line) <= MAX_LINE_BYTES and _is_flat_user_entry(entry):
            return line
        decoded = self._decode(line, entry["prev"]) or _decode_by_rules(line, entry)
        if isinstance(decoded.data, dict) and decoded.data != entry["data"]:
            raise EntryError(entry["kind"], "data must consist of text, integers, true, false, null, lists and dicts")
        return line

    def encode_trusted(self, entry: dict[str, Any]) -> bytes:
        """Like `encode`, for an entry that is known to be valid: only the length of its line is checked."""
        line = orjson.dumps(entry, option=_OPTIONS)
        if len(line) > MAX_LINE_BYTES:
            raise EntryError(entry["kind"], f"the line has {len(line):,} bytes; the maximum is {MAX_LINE_BYTES:,}")
        return line


def _encode(entry: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(entry, option=_OPTIONS)
    except orjson.JSONEncodeError as error:
        raise EntryError(entry["kind"], str(error)) from error


def _encode_by_rules(entry: dict[str, Any]) -> bytes:
    """Encodes by the rules of RFC 8785. orjson sorts keys outside ASCII differently."""
    try:
        return canonical(entry)
    except CanonicalError as error:
        raise EntryError(entry["kind"], str(error)) from error


def _decode_by_rules(line: bytes, entry: dict[str, Any]) -> AnyEntry:
    try:
        return check_line(line)
    except Violation as violation:
        raise EntryError(entry["kind"], _reason(entry, violation)) from violation


def _is_flat_user_entry(entry: dict[str, Any]) -> bool:
    """Whether an encoded entry is valid and of a user kind, and has no lists, objects or floats in its data.

    This check is faster than decoding the line, which would double the time to write such an entry.
    """
    data, bodies = entry["data"], entry["bodies"]
    if type(data) is not dict or len(bodies) > MAX_BODIES or not _FLAT_TYPES.issuperset(map(type, data.values())):
        return False
    for name, body in bodies.items():
        if not _is_body(name, body["type"]):
            return False
    return _is_user_kind(entry["actor"], entry["kind"])


@lru_cache(maxsize=1024)
def _is_user_kind(actor: str, kind: str) -> bool:
    return kind.startswith(USER_PREFIX) and fits(actor, Actor) and fits(kind, Kind)


@lru_cache(maxsize=1024)
def _is_body(name: str, type_: str) -> bool:
    return fits(name, BodyName) and fits(type_, MediaType)


def _sorted_causes(entry: dict[str, Any]) -> Sequence[int]:
    causes, seq = entry["causes"], entry["seq"]
    if not isinstance(causes, (list, tuple)) or not _CAUSE_TYPES.issuperset(map(type, causes)):
        raise EntryError(entry["kind"], "causes must be a list of the seqs of earlier entries")
    ascending = sorted(set(causes)) if len(causes) > 1 else causes
    if ascending and (ascending[0] < 0 or ascending[-1] >= seq or len(ascending) > MAX_CAUSES):
        raise EntryError(entry["kind"], f"causes must be at most {MAX_CAUSES:,} earlier entries")
    return ascending


def _reason(entry: dict[str, Any], violation: Violation) -> str:
    actor, kind = entry["actor"], entry["kind"]
    if not fits(actor, Actor):
        return f"invalid actor {actor!r}: use `runner`, `agent:NAME` or `person:NAME`, without spaces"
    if kind not in KINDS and not _is_user_kind(actor, kind):
        return "unknown kind; user-defined kinds start with 'x-'"
    return str(violation)
