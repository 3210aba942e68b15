"""Decodes a line into a typed entry, or not at all: the fast path of level 1.

It accepts a line if and only if level 1 holds. `verification.bytes_level` finds out why it rejects one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, get_args

import msgspec
from msgspec import inspect

from forum_runner.canonical import MAX_INTEGER
from forum_runner.ledger.entries import KINDS, USER_PREFIX, AnyEntry, Entry, EntryData
from forum_runner.ledger.entry_values import BodyName, Digest, MediaType, Time
from forum_runner.ledger.layout import MAX_DEPTH, MAX_LINE_BYTES

_KIND = b'"kind":"'
_DIGEST = inspect.type_info(Digest)
_DIGEST_LENGTH = 64
# Returns something true if a value is right.
_Check = Callable[[Any], object]

# Keys in alphabetical order, like members of structs: RFC 8785 form if keys are ASCII and numbers are integers.
encode_into = msgspec.json.Encoder(order="deterministic").encode_into


class EntryDecoder:
    """Has a form for each kind that it has met, and a buffer: one thread at a time may use it."""

    __slots__ = ("_buffer", "_forms")

    def __init__(self) -> None:
        self._forms: dict[bytes, _Form] = {}
        self._buffer = bytearray()

    def decode(self, line: bytes, previous: str = "") -> AnyEntry | None:
        """The entry of a line that holds level 1; None for any other line.

        `previous` is the hash that `prev` is expected to be: then `prev` is known to be a hash.
        """
        # In a canonical line the last member of this name is the entry's own.
        start = line.rfind(_KIND) + len(_KIND)
        kind = line[start : line.find(b'"', start)]
        form = self._forms.get(kind) or self._form_of(kind)
        if form is None or len(line) > MAX_LINE_BYTES:
            return None
        try:
            entry = form.decode(line)
            # Finds what decoding forgives: duplicate keys, null for an absent member, 1.0, any form but the canonical.
            encode_into(entry, self._buffer)
            if self._buffer != line or not _is_time(entry.at) or not form.texts_match(*form.texts(entry)):
                return None
            digests = [] if entry.prev == previous else [entry.prev]
            if form.digest is not None:
                digests.append(form.digest(entry))
            for body in entry.bodies.values():
                digests.append(body.digest)
                if not _is_media_type(body.type):
                    return None
            if digests and not _are_digests(digests):
                return None
        except (ValueError, RecursionError):
            return None
        return entry if _is_allowed(line, entry) else None

    def _form_of(self, kind: bytes) -> _Form | None:
        name = kind.decode(errors="replace")
        if name in KINDS:
            return self._forms.setdefault(kind, _Form(KINDS[name]))
        # One for all: a ledger may have any number of such kinds.
        prefix = USER_PREFIX.encode()
        return self._forms.setdefault(prefix, _Form(dict[str, Any])) if kind.startswith(prefix) else None


class _Form:
    """The entries of one kind: what decodes them, and which of their texts have to be checked."""

    __slots__ = ("decode", "digest", "texts", "texts_match")

    def __init__(self, data: Any) -> None:
        entry = Entry[data]
        self.decode: Callable[[bytes], AnyEntry] = msgspec.json.Decoder(entry).decode
        texts = {path: check for path, field in _members(entry) if (check := _check_of(field.type)) is not None}
        digests = [path for path, field in _members(entry) if field.type == _DIGEST and field.required]
        for path in digests[:1]:
            del texts[path]
        # Most digests occur once. No kind has two that it must have.
        self.digest: Callable[[AnyEntry], str] | None = attrgetter(digests[0]) if digests else None
        self.texts: Callable[[AnyEntry], tuple[Any, ...]] = attrgetter(*texts)
        # Texts recur from entry to entry: the names of tasks, agents and adapters, the run, the actor.
        self.texts_match = lru_cache(maxsize=256)(_all_match(tuple(texts.values())))


def entry_of(document: Mapping[str, Any]) -> AnyEntry:
    """The typed entry of a parsed line that is known to hold level 1."""
    data = KINDS.get(document["kind"], dict[str, Any])
    return msgspec.convert(document, Entry[data])  # type: ignore[valid-type]


def _are_digests(texts: list[str]) -> bool:
    # None has more than 64 characters, so each has 64 if all together have 64 times their number.
    joined = "".join(texts)
    return len(joined) == _DIGEST_LENGTH * len(texts) and bytes.fromhex(joined).hex() == joined


def _is_allowed(line: bytes, entry: AnyEntry) -> bool:
    """What holds for an entry as a whole: rules about several members, and what its kind's type does not say."""
    data, bodies = entry.data, entry.bodies
    if isinstance(data, EntryData):
        return data.allows(bodies)
    return line.isascii() and all(map(_is_body_name, bodies)) and _has_integers_only(data)


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


def _members(entry: Any) -> Iterator[tuple[str, inspect.Field]]:
    """The members of an entry and of its data, with their paths; time, bodies and `prev` are checked apart."""
    for field in _fields(inspect.type_info(entry)):
        if field.name == "data":
            yield from ((f"data.{inner.name}", inner) for inner in _fields(field.type))
        elif field.name not in ("at", "bodies", "prev"):
            yield field.name, field


def _fields(type_: inspect.Type) -> tuple[inspect.Field, ...]:
    return type_.fields if isinstance(type_, inspect.StructType) else ()


def _check_of(type_: inspect.Type) -> _Check | None:
    """A check of the patterns in a value of a type; None if it has none."""
    if isinstance(type_, inspect.Metadata):
        return _matches((type_.extra_json_schema or {})["pattern"])
    if isinstance(type_, inspect.UnionType):
        (inner,) = [_check_of(option) for option in type_.types if not isinstance(option, inspect.NoneType)]
        return inner and (lambda value: value is None or inner(value))
    if isinstance(type_, inspect.VarTupleType):
        each = _check_of(type_.item_type)
        return each and (lambda values: all(map(each, values)))
    checks = [(field.name, check) for field in _fields(type_) if (check := _check_of(field.type)) is not None]
    return (lambda value: all(check(getattr(value, name)) for name, check in checks)) if checks else None


def _all_match(checks: tuple[_Check, ...]) -> Callable[..., bool]:
    return lambda *texts: all(check(text) for check, text in zip(checks, texts, strict=True))


def _matches(pattern: str) -> _Check:
    return re.compile(pattern).fullmatch


def _pattern_of(text: Any) -> str:
    return str(get_args(text)[1].extra_json_schema["pattern"])


_is_time = _matches(_pattern_of(Time))
_is_body_name = _matches(_pattern_of(BodyName))
_is_media_type = lru_cache(maxsize=256)(_matches(_pattern_of(MediaType)))
