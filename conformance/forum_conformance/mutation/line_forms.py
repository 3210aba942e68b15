"""Lines that violate LEDGER-LINE, in a recomputed chain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from random import Random

from forum_conformance.mutation.change import Change, Mutator, entry_label
from forum_conformance.mutation.original import Draft, Entry, Files, Form, Original, canonical

MAX_LINE_BYTES = 65_535
MAX_DEPTH = 64


def _with_spaces(entry: Entry) -> bytes:
    return json.dumps(entry, ensure_ascii=False, sort_keys=True).encode()


def _with_reversed_keys(entry: Entry) -> bytes:
    members = sorted(entry.items(), reverse=True)
    return b"{" + b",".join(canonical(key) + b":" + canonical(value) for key, value in members) + b"}"


def _with_escapes(entry: Entry) -> bytes:
    return canonical(entry).replace(b'"actor":', b'"\\u0061ctor":', 1)


def _version_as(text: bytes) -> Form:
    """Write the version, which is the last member of a line, as `text`: the number 1 has several spellings."""
    return lambda entry: canonical(entry).removesuffix(b"1}") + text + b"}"


def _with_negative_zero(entry: Entry) -> bytes:
    if entry["seq"] == 0:
        return canonical(entry).replace(b'"seq":0,', b'"seq":-0,')
    return canonical({**entry, "causes": [0]}).replace(b'"causes":[0]', b'"causes":[-0]', 1)


def _actor_with(text: bytes) -> Form:
    return lambda entry: canonical({**entry, "actor": "person:x"}).replace(b"person:x", b"person:" + text, 1)


def _prefixed_with(text: bytes) -> Form:
    return lambda entry: text + canonical(entry)


def _suffixed_with(text: bytes) -> Form:
    return lambda entry: canonical(entry) + text


def _enclosed_in(left: bytes, right: bytes) -> Form:
    return lambda entry: left + canonical(entry) + right


def _constant(text: bytes) -> Form:
    return lambda _: text


def _too_long(entry: Entry) -> bytes:
    return canonical(entry).ljust(MAX_LINE_BYTES + 1)


def _too_deep(entry: Entry) -> bytes:
    return canonical({**entry, "data": None}).replace(
        b'"data":null', b'"data":{"x":' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}", 1
    )


def _doubled(entry: Entry) -> bytes:
    return canonical(entry) * 2


def _with_repeated_key(entry: Entry) -> bytes:
    return b'{"actor":"runner",' + canonical(entry).removeprefix(b"{")


FORMS: dict[str, Form] = {
    "line-with-spaces": _with_spaces,
    "line-with-keys-in-another-order": _with_reversed_keys,
    "line-with-needless-escapes": _with_escapes,
    "line-with-a-repeated-key": _with_repeated_key,
    "line-with-a-fraction": _version_as(b"1.0"),
    "line-with-an-exponent": _version_as(b"1e0"),
    "line-with-a-negative-zero": _with_negative_zero,
    "line-with-a-leading-zero": _version_as(b"01"),
    "line-with-not-a-number": _version_as(b"NaN"),
    "line-with-infinity": _version_as(b"-Infinity"),
    "line-with-an-integer-too-large": _version_as(b"9007199254740993"),
    "line-with-a-very-long-integer": _version_as(b"9" * 5000),
    "line-with-a-carriage-return": _suffixed_with(b"\r"),
    "line-with-a-leading-tab": _prefixed_with(b"\t"),
    "line-with-a-byte-order-mark": _prefixed_with(b"\xef\xbb\xbf"),
    "line-with-a-nul": _suffixed_with(b"\0"),
    "line-with-a-next-line-character": _suffixed_with(b"\xc2\x85"),
    "line-of-nuls": _constant(bytes(300)),
    "line-empty": _constant(b""),
    "line-of-null": _constant(b"null"),
    "line-of-brackets": _constant(b"[" * 60_000),
    "line-that-is-a-list": _enclosed_in(b"[", b"]"),
    "line-with-two-objects": _doubled,
    "line-with-a-trailing-comma": _suffixed_with(b","),
    "line-with-bad-bytes": _actor_with(b"\xff"),
    "line-with-an-overlong-character": _actor_with(b"\xc1\xa1"),
    "line-with-a-raw-surrogate": _actor_with(b"\xed\xa0\x80"),
    "line-with-an-escaped-lone-surrogate": _actor_with(b"\\ud800"),
    "line-with-a-raw-control-character": _actor_with(b"\x01"),
    "line-too-long": _too_long,
    "line-too-deep": _too_deep,
}


def _rewrite_lines(form: Form, original: Original, _: Random) -> Iterator[Change]:
    for seq, entry in enumerate(original.entries):
        yield Change(entry_label(seq, entry), partial(_with_form, original, seq, form))


def _with_form(original: Original, seq: int, form: Form) -> Files:
    return original.rewrite(Draft(list(original.entries), {seq: form}))


KINDS: dict[str, Mutator] = {name: partial(_rewrite_lines, form) for name, form in FORMS.items()}
