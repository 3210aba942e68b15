"""Decodes a line into a typed entry: the fast path of level 1.

It accepts only lines that pass level 1, but not all of them: lines of user kinds that are not ASCII are left to
`verification.bytes_level`, as are invalid lines, for which that module finds the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import inspect

from forum_runner.canonical import MAX_INTEGER
from forum_runner.ledger.entries import KINDS, USER_PREFIX, AnyEntry, Entry, EntryData
from forum_runner.ledger.entry_values import Actor, BodyName, Digest, Kind, MediaType, RunId, Timestamp
from forum_runner.ledger.layout import MAX_DEPTH, MAX_LINE_BYTES

_KIND = b'"kind":"'
_MAX_CACHED = 1024

# Struct members are in alphabetical order, and so are sorted keys: RFC 8785 form, if all keys are ASCII.
_encode_into = msgspec.json.Encoder(order="deterministic").encode_into
_Check = Callable[[Any], object]


class _CachedCheck(dict[Any, bool]):
    """Caches the results of a check by value: most names occur in many entries."""

    __slots__ = ("_check",)

    def __init__(self, check: _Check) -> None:
        super().__init__()
        self._check = check

    def __missing__(self, value: Any) -> bool:
        if len(self) >= _MAX_CACHED:
            self.clear()
        fits = self[value] = bool(self._check(value))
        return fits


class EntryDecoder:
    """Decodes the lines of a ledger, in one thread."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._actors = _CachedCheck(_matches(Actor))
        self._runs = _CachedCheck(_matches(RunId))
        self._types = _CachedCheck(_matches(MediaType))

    def decode(self, line: bytes, previous: str = "") -> AnyEntry | None:
        """The entry in a line; None if `bytes_level` must check the line.

        A `prev` equal to `previous` is known to be a digest.
        """
        # In a canonical line, the last `kind` is the one of the entry itself, not of a value in its data.
        start = line.rfind(_KIND) + len(_KIND)
        kind = line[start : line.find(b'"', start)]
        decoder = _DECODERS.get(kind) or _decoder_of(kind)
        if decoder is None or len(line) > MAX_LINE_BYTES:
            return None
        try:
            entry = decoder.decode(line)
            # The decoder accepts duplicate keys, null for an absent member, 1.0 and other forms: encode, and compare.
            _encode_into(entry, self._buffer)
        except (ValueError, RecursionError):
            return None
        if self._buffer != line or not (self._actors[entry.actor] and self._runs[entry.run] and _is_time(entry.at)):
            return None
        if entry.prev != previous and not _is_digest(entry.prev):
            return None
        data = entry.data
        for name, fits in decoder.checks:
            if not fits(getattr(data, name)):
                return None
        for name, body in entry.bodies.items():
            if not (_is_digest(body.digest) and self._types[body.type] and decoder.body_names[name]):
                return None
        if decoder.is_user:
            return entry if _is_user_entry(line, entry) else None
        return entry if not decoder.has_body_rule or data.has_bodies(entry.bodies) else None  # type: ignore[union-attr]


class _KindDecoder:
    """Decodes the entries of one kind, and knows which of their texts must match a pattern."""

    __slots__ = ("body_names", "checks", "decode", "has_body_rule", "is_user")

    def __init__(self, data: type[EntryData] | None) -> None:
        """`data` is the type of the kind's data; None for user kinds, whose data is any mapping."""
        entry = Entry[data if data is not None else dict[str, Any]]  # type: ignore[valid-type, misc]
        self.decode: Callable[[bytes], AnyEntry] = msgspec.json.Decoder(entry).decode
        checks = {} if data is None else _checks_of(inspect.type_info(data))
        # Checks of digests are not cached: a digest rarely occurs twice.
        self.checks = [
            (name, check if check is _is_digest else _CachedCheck(check).__getitem__) for name, check in checks.items()
        ]
        self.body_names = _CachedCheck(_matches(BodyName) if data is None else data.bodies.__contains__)
        self.is_user = data is None
        self.has_body_rule = data is not None and (data.required_bodies or data.has_bodies is not EntryData.has_bodies)


_DECODERS: dict[bytes, _KindDecoder] = {}


def _decoder_of(kind: bytes) -> _KindDecoder | None:
    name = kind.decode(errors="replace")
    if name in KINDS:
        return _DECODERS.setdefault(kind, _KindDecoder(KINDS[name]))
    # All user kinds share one decoder: a ledger may have any number of them.
    return _user_decoder() if name.startswith(USER_PREFIX) else None


@cache
def _user_decoder() -> _KindDecoder:
    return _KindDecoder(None)


def _is_user_entry(line: bytes, entry: AnyEntry) -> bool:
    # RFC 8785 sorts keys outside ASCII differently.
    return line.isascii() and bool(_is_kind(entry.kind)) and _has_integers_only(entry.data)


def _has_integers_only(data: Any) -> bool:
    """Whether all numbers are integers within ±(2^53 - 1), and nothing is nested too deeply."""
    level = [data]
    for _ in range(MAX_DEPTH - 1):
        below: list[Any] = []
        for item in level:
            for value in item.values() if type(item) is dict else item:
                kind = type(value)
                if kind is dict or kind is list:
                    below.append(value)
                elif kind is float or (kind is int and not -MAX_INTEGER <= value <= MAX_INTEGER):
                    return False
        if not below:
            return True
        level = below
    return False


def _checks_of(struct: inspect.Type) -> dict[str, _Check]:
    """The pattern checks for the members of a struct, by name. Members without a pattern are omitted."""
    fields = struct.fields if isinstance(struct, inspect.StructType) else ()
    return {field.name: check for field in fields if (check := _check_of(field.type)) is not None}


def _check_of(type_: inspect.Type) -> _Check | None:
    """The pattern check for values of a type; None if the type has no pattern."""
    if isinstance(type_, inspect.Metadata):
        return _is_digest if type_ == inspect.type_info(Digest) else _fullmatch(type_.extra_json_schema)
    if isinstance(type_, inspect.UnionType):
        (inner,) = [_check_of(option) for option in type_.types if not isinstance(option, inspect.NoneType)]
        return inner and (lambda value: value is None or inner(value))
    if isinstance(type_, inspect.VarTupleType):
        each = _check_of(type_.item_type)
        return each and (lambda values: all(map(each, values)))
    checks = _checks_of(type_)
    return (lambda value: all(check(getattr(value, name)) for name, check in checks.items())) if checks else None


def _matches(text: Any) -> _Check:
    """The pattern check for one of the text types in `entry_values`. msgspec checks the length."""
    return _fullmatch(get_args(text)[1].extra_json_schema)


def _fullmatch(schema: Mapping[str, str] | None) -> _Check:
    return re.compile((schema or {})["pattern"]).fullmatch


_is_digest = _matches(Digest)
_is_kind = _matches(Kind)
_is_time = _matches(Timestamp)
