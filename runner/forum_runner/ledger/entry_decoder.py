"""Decodes a line into a typed entry, or not at all: the fast path of level 1.

It accepts a line if and only if level 1 holds. `verification.bytes_level` finds out why it rejects one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec
from msgspec import inspect

from forum_runner.canonical import MAX_INTEGER
from forum_runner.ledger.entries import KINDS, USER_PREFIX, AnyEntry, Entry, EntryData
from forum_runner.ledger.entry_values import Actor, BodyName, Digest, Kind, MediaType, RunId, Time
from forum_runner.ledger.layout import MAX_DEPTH, MAX_LINE_BYTES

_KIND = b'"kind":"'
_DIGEST_LENGTH = 64
_SECOND_LENGTH = len("2026-11-15T09:00:00.")
_MAX_KNOWN = 1024

# Keys in alphabetical order, like members of structs: RFC 8785 form if keys are ASCII and numbers are integers.
_encode_into = msgspec.json.Encoder(order="deterministic").encode_into
_Check = Callable[[Any], object]


class _Known(dict[Any, bool]):
    """Whether values fit, for a check that is called once for those that recur: most names recur soon, or never."""

    __slots__ = ("_check",)

    def __init__(self, check: _Check) -> None:
        super().__init__()
        self._check = check

    def __missing__(self, value: Any) -> bool:
        if len(self) >= _MAX_KNOWN:
            self.clear()
        fits = self[value] = bool(self._check(value))
        return fits


class EntryDecoder:
    """Decodes the lines of a ledger, in one thread. It knows the texts that it has met."""

    def __init__(self) -> None:
        self._kinds: dict[bytes, _KindDecoder] = {}
        self._buffer = bytearray()
        self._actors = _Known(_matches(Actor))
        self._runs = _Known(_matches(RunId))
        self._seconds = _Known(lambda second: _is_time(f"{second}000000Z"))
        self._types = _Known(_matches(MediaType))

    def decode(self, line: bytes, previous: str = "") -> AnyEntry | None:
        """The entry of a line that holds level 1; None for any other line.

        `previous` is the hash that `prev` should be: if it is, it needs no check.
        """
        # In a canonical line the last member of this name is the entry's own.
        start = line.rfind(_KIND) + len(_KIND)
        kind = line[start : line.find(b'"', start)]
        decoder = self._kinds.get(kind) or self._decoder_of(kind)
        if decoder is None or len(line) > MAX_LINE_BYTES:
            return None
        try:
            entry = decoder.decode(line)
            # Finds what decoding forgives: duplicate keys, null for an absent member, 1.0, any form but the canonical.
            _encode_into(entry, self._buffer)
            at, data = entry.at, entry.data
            if self._buffer != line or not (self._actors[entry.actor] and self._runs[entry.run]):
                return None
            if not (self._seconds[at[:_SECOND_LENGTH]] and _is_fraction(at[_SECOND_LENGTH:])):
                return None
            for name, known in decoder.texts:
                if not known[getattr(data, name)]:
                    return None
            digests = [] if entry.prev == previous else [entry.prev]
            # A loop and not a comprehension, which would cost a call.
            for name in decoder.digests:
                digests.append(getattr(data, name))  # noqa: PERF401
            for name, body in entry.bodies.items():
                digests.append(body.digest)
                if not (self._types[body.type] and decoder.body_names[name]):
                    return None
            # None has more than 64 characters, so each has 64 if all together have 64 times their number.
            joined = "".join(digests)
            if len(joined) != _DIGEST_LENGTH * len(digests) or bytes.fromhex(joined).hex() != joined:
                return None
        except (ValueError, RecursionError):
            return None
        rule = decoder.rule
        return entry if rule is None or rule(line, entry) else None

    def _decoder_of(self, kind: bytes) -> _KindDecoder | None:
        name = kind.decode(errors="replace")
        if name in KINDS:
            return self._kinds.setdefault(kind, _KindDecoder(KINDS[name]))
        # One for all: a ledger may have any number of such kinds.
        prefix = USER_PREFIX.encode()
        if not kind.startswith(prefix):
            return None
        return self._kinds.get(prefix) or self._kinds.setdefault(prefix, _KindDecoder(None))


class _KindDecoder:
    """Decodes the entries of one kind, and says which of their texts have to be checked."""

    __slots__ = ("body_names", "decode", "digests", "rule", "texts")

    def __init__(self, data: type[EntryData] | None) -> None:
        """`data` is None for users' own kinds, whose data is any mapping."""
        entry = Entry[data if data is not None else dict[str, Any]]  # type: ignore[valid-type, misc]
        self.decode: Callable[[bytes], AnyEntry] = msgspec.json.Decoder(entry).decode
        checks = {} if data is None else _checks_of(inspect.type_info(data))
        # These occur once; other texts recur from entry to entry.
        self.digests = tuple(name for name, check in checks.items() if check is _is_digest)
        self.texts = tuple((name, _Known(check)) for name, check in checks.items() if check is not _is_digest)
        self.body_names = _Known(_matches(BodyName) if data is None else data.bodies.__contains__)
        self.rule: Callable[[bytes, AnyEntry], bool] | None = None
        if data is None:
            self.rule = _is_user_entry
        elif data.required_bodies or data.has_bodies is not EntryData.has_bodies:
            self.rule = _has_bodies


def _has_bodies(_line: bytes, entry: AnyEntry) -> bool:
    return entry.data.has_bodies(entry.bodies)  # type: ignore[union-attr]


def _is_user_entry(line: bytes, entry: AnyEntry) -> bool:
    # RFC 8785 sorts keys that are not ASCII in another way.
    return line.isascii() and bool(_is_kind(entry.kind)) and _has_integers_only(entry.data)


def _has_integers_only(data: Any) -> bool:
    """Whether all numbers are integers within ±(2^53 - 1), and nothing is nested too deep."""
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
    """The checks of the patterns of a struct, by the names of its members."""
    fields = struct.fields if isinstance(struct, inspect.StructType) else ()
    return {field.name: check for field in fields if (check := _check_of(field.type)) is not None}


def _check_of(type_: inspect.Type) -> _Check | None:
    """A check of the patterns in a value of a type; None if it has none."""
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
    """A check of one of the texts of `entry_values`."""
    return _fullmatch(get_args(text)[1].extra_json_schema)


def _fullmatch(schema: Mapping[str, str] | None) -> _Check:
    return re.compile((schema or {})["pattern"]).fullmatch


_is_digest = _matches(Digest)
_is_kind = _matches(Kind)
_is_time = _matches(Time)
_is_fraction = re.compile("[0-9]{6}Z").fullmatch
