"""Lines that violate LEDGER-LINE, in a recomputed chain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from random import Random

from forum_conformance.mutation.change import Change, Mutator, entry_label
from forum_conformance.mutation.original import Draft, Entry, Files, Form, Original, canonical


def _spaced(entry: Entry) -> bytes:
    return json.dumps(entry, ensure_ascii=False, sort_keys=True).encode()


def _other_order(entry: Entry) -> bytes:
    members = sorted(entry.items(), reverse=True)
    return b"{" + b",".join(canonical(key) + b":" + canonical(value) for key, value in members) + b"}"


def _escaped(entry: Entry) -> bytes:
    return canonical(entry).replace(b'"actor":', b'"\\u0061ctor":', 1)


def _version(text: bytes) -> Form:
    """The last member of a line is the version, a number with other spellings."""
    return lambda entry: canonical(entry).removesuffix(b"1}") + text + b"}"


def _negative_zero(entry: Entry) -> bytes:
    if entry["seq"] == 0:
        return canonical(entry).replace(b'"seq":0,', b'"seq":-0,')
    return canonical({**entry, "causes": [0]}).replace(b'"causes":[0]', b'"causes":[-0]', 1)


def _actor(text: bytes) -> Form:
    return lambda entry: canonical({**entry, "actor": "person:x"}).replace(b"person:x", b"person:" + text, 1)


def _before(text: bytes) -> Form:
    return lambda entry: text + canonical(entry)


def _after(text: bytes) -> Form:
    return lambda entry: canonical(entry) + text


def _around(left: bytes, right: bytes) -> Form:
    return lambda entry: left + canonical(entry) + right


def _always(text: bytes) -> Form:
    return lambda _: text


def _too_long(entry: Entry) -> bytes:
    return canonical(entry).ljust(65_536)


def _too_deep(entry: Entry) -> bytes:
    return canonical({**entry, "data": None}).replace(b'"data":null', b'"data":{"x":' + b"[" * 63 + b"]" * 63 + b"}", 1)


def _twice(entry: Entry) -> bytes:
    return canonical(entry) * 2


def _key_twice(entry: Entry) -> bytes:
    return b'{"actor":"runner",' + canonical(entry).removeprefix(b"{")


FORMS: dict[str, Form] = {
    "line-with-spaces": _spaced,
    "line-with-keys-in-another-order": _other_order,
    "line-with-needless-escapes": _escaped,
    "line-with-a-repeated-key": _key_twice,
    "line-with-a-fraction": _version(b"1.0"),
    "line-with-an-exponent": _version(b"1e0"),
    "line-with-a-negative-zero": _negative_zero,
    "line-with-a-leading-zero": _version(b"01"),
    "line-with-not-a-number": _version(b"NaN"),
    "line-with-infinity": _version(b"-Infinity"),
    "line-with-an-integer-too-large": _version(b"9007199254740993"),
    "line-with-a-very-long-integer": _version(b"9" * 5000),
    "line-with-a-carriage-return": _after(b"\r"),
    "line-with-a-leading-tab": _before(b"\t"),
    "line-with-a-byte-order-mark": _before(b"\xef\xbb\xbf"),
    "line-with-a-nul": _after(b"\0"),
    "line-with-a-next-line-character": _after(b"\xc2\x85"),
    "line-of-nuls": _always(bytes(300)),
    "line-empty": _always(b""),
    "line-of-null": _always(b"null"),
    "line-of-brackets": _always(b"[" * 60_000),
    "line-that-is-a-list": _around(b"[", b"]"),
    "line-with-two-objects": _twice,
    "line-with-a-trailing-comma": _after(b","),
    "line-with-bad-bytes": _actor(b"\xff"),
    "line-with-an-overlong-character": _actor(b"\xc1\xa1"),
    "line-with-a-raw-surrogate": _actor(b"\xed\xa0\x80"),
    "line-with-an-escaped-lone-surrogate": _actor(b"\\ud800"),
    "line-with-a-raw-control-character": _actor(b"\x01"),
    "line-too-long": _too_long,
    "line-too-deep": _too_deep,
}


def _formed(form: Form, original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        yield Change(entry_label(seq, entry), partial(_rewritten, original, seq, form))


def _rewritten(original: Original, seq: int, form: Form) -> Files:
    return original.rewritten(Draft(list(original.entries), {seq: form}))


KINDS: dict[str, Mutator] = {name: partial(_formed, form) for name, form in FORMS.items()}
