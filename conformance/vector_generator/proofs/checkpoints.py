"""Checkpoints of a ledger: malformed, of another run, too large, with another root or signer."""

import base64
from collections.abc import Iterator, Mapping

from fake_ledger.files import (
    OTHER_RUN,
    RUN,
    Files,
    checkpoint_of,
    checkpoint_text,
    leaf,
    ledger_of,
    lines_of,
    merkle_root,
)
from vector_generator.ledgers.bases import worked_example
from vector_generator.ledgers.case import Case
from vector_generator.proofs.signing import KEY, ORDER, OTHER_KEY, SigningKey, signature_line

NOT_CHECKED = frozenset({3, 4})
LINES = tuple(lines_of(worked_example().entries))
TEXT = checkpoint_of(LINES)
ORIGIN, SIZE, ROOT = TEXT.split(b"\n")[:3]
HASH = merkle_root([leaf(line) for line in LINES])


def _text(origin: bytes = ORIGIN, size: bytes = SIZE, encoded: bytes = ROOT) -> bytes:
    return b"\n".join([origin, size, encoded, b""])


def _with_trailing_bits(encoded: bytes) -> bytes:
    """The root with nonzero unused bits in its last base64 character, which an encoder sets to zero."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet.index(encoded[-2:-1])
    return encoded[:-2] + alphabet[last + 1 : last + 2] + b"="


def _url_safe() -> bytes:
    return base64.urlsafe_b64encode(b"\xff" * 32)


MALFORMED_CHECKPOINTS: Mapping[str, tuple[str, str, bytes]] = {
    "checkpoint-empty": ("an empty checkpoint", "the checkpoint is empty", b""),
    "checkpoint-without-a-final-line-feed": ("the last line has no LF", "the last LF is missing", TEXT[:-1]),
    "checkpoint-with-carriage-returns": ("lines end with CR and LF", "each LF is CR and LF",
                                         TEXT.replace(b"\n", b"\r\n")),
    "checkpoint-with-a-byte-order-mark": ("a byte order mark precedes the origin",
                                          "a byte order mark precedes the origin",
                                          b"\xef\xbb\xbf" + TEXT),
    "checkpoint-without-a-root": ("the root's line is missing", "the third line is missing",
                                  b"\n".join([ORIGIN, SIZE, b""])),
    "checkpoint-with-an-extra-line": ("a checkpoint with an extra line", "a fourth line follows", TEXT + b"more\n"),
    "checkpoint-with-an-empty-line": ("an empty line is not followed by a signature", "an empty line follows",
                                            TEXT + b"\n"),
    "checkpoint-with-a-leading-zero": ("the size has a leading zero", "the size is 03", _text(size=b"03")),
    "checkpoint-with-a-sign": ("the size has a sign", "the size is +3", _text(size=b"+3")),
    "checkpoint-with-a-negative-size": ("the size is negative", "the size is -3", _text(size=b"-3")),
    "checkpoint-with-a-space-after-the-size": ("a space follows the size", "the size is `3 `", _text(size=b"3 ")),
    "checkpoint-with-a-size-in-words": ("the size is not a number", "the size is `three`", _text(size=b"three")),
    "checkpoint-with-a-size-too-large": ("the size is above 2^53 - 1", "the size is 2^53",
                                           _text(size=b"9007199254740992")),
    "checkpoint-with-a-non-ascii-digit": ("the size has a non-ASCII digit", "the size is U+0663",
                                        _text(size="\u0663".encode())),
    "checkpoint-without-padding": ("base64 without padding", "the last `=` is missing", _text(encoded=ROOT[:-1])),
    "checkpoint-in-url-safe-base64": ("a root in URL-safe base64",
                                       "the root is 32 bytes 0xff in URL-safe base64",
                                       _text(encoded=_url_safe())),
    "checkpoint-with-nonzero-trailing-bits": ("base64 with nonzero trailing bits", "the last bits are not zero",
                                   _text(encoded=_with_trailing_bits(ROOT))),
    "checkpoint-with-a-short-root": ("a root of 31 bytes", "the root has 31 bytes",
                                     _text(encoded=base64.b64encode(HASH[:31]))),
    "checkpoint-with-a-long-root": ("a root of 33 bytes", "the root has 33 bytes",
                                    _text(encoded=base64.b64encode(HASH + b"\0"))),
    "checkpoint-with-a-root-in-hexadecimal": ("a root in hexadecimal", "the root is in hexadecimal",
                                              _text(encoded=HASH.hex().encode())),
    "checkpoint-without-a-run": ("an origin without a run", "the origin is `forum/`", _text(origin=b"forum/")),
    "checkpoint-of-another-origin": ("an origin that is not a run of forum", "the origin begins with `other/`",
                                     _text(origin=b"other/" + RUN.encode())),
    "checkpoint-of-a-malformed-run": ("an origin whose run id is not a UUIDv7", "the id is a UUIDv4",
                                      _text(origin=b"forum/" + RUN.replace("-7a3c-", "-4a3c-").encode())),
    "checkpoint-of-a-run-in-upper-case": ("an origin in upper case", "the id is in upper case",
                                          _text(origin=b"forum/" + RUN.upper().encode())),
    "checkpoint-not-utf-8": ("a checkpoint that is not UTF-8", "the origin ends with 0xff",
                                    _text(origin=ORIGIN + b"\xff")),
}  # fmt: skip
"""By name: the title, the mutation and the content of a malformed checkpoint without a signature."""

LINE = KEY.line(TEXT)
OTHER_LINE = OTHER_KEY.line(TEXT)
SIGNATURE = KEY.key_id + KEY.signature(TEXT)


def _line_with_bad_base64() -> bytes:
    encoded = base64.b64encode(SIGNATURE)
    return LINE.replace(encoded, b"*" + encoded[1:])


MALFORMED_NOTES: Mapping[str, tuple[str, str, bytes]] = {
    "note-without-an-empty-line": ("no empty line precedes the signature", "the empty line is missing", TEXT + LINE),
    "note-with-two-empty-lines": ("two empty lines precede the signature", "a second empty line is added",
                                  TEXT + b"\n\n" + LINE),
    "note-without-a-final-line-feed": ("the last signature line has no LF", "the last LF is missing",
                                        TEXT + b"\n" + LINE[:-1]),
    "note-with-a-hyphen": ("a signature line begins with a hyphen", "the dash is a hyphen",
                           TEXT + b"\n" + LINE.replace("\u2014".encode(), b"-")),
    "note-without-a-name": ("a signature line has no name", "the name is missing",
                            TEXT + b"\n" + f"\u2014 {base64.b64encode(SIGNATURE).decode()}\n".encode()),
    "note-with-a-plus-in-a-name": ("a key name with `+`", "the name is `a+b`",
                                   TEXT + b"\n" + signature_line("a+b", SIGNATURE)),
    "note-with-a-control-character-in-a-name": ("a key name with a character below U+0020", "the name contains U+0001",
                                                TEXT + b"\n" + signature_line("a\x01b", SIGNATURE)),
    "note-with-two-spaces": ("two spaces precede the signature", "a second space is added",
                             TEXT + b"\n" + LINE.replace(KEY.name.encode() + b" ", KEY.name.encode() + b"  ")),
    "note-with-bad-base64": ("a signature is not base64", "the first character of the signature is `*`",
                             TEXT + b"\n" + _line_with_bad_base64()),
    "note-with-only-a-key-id": ("a signature has no bytes after the key id", "the signature is the key's id alone",
                              TEXT + b"\n" + signature_line(KEY.name, KEY.key_id)),
    "note-with-an-empty-line-between-signatures": ("an empty line is between signatures",
                                        "an empty line is between two signatures",
                                        TEXT + b"\n" + LINE + b"\n" + OTHER_LINE),
    "note-with-text-after-the-signatures": ("text follows the signatures", "a line `more` follows",
                                TEXT + b"\n" + LINE + b"more\n"),
    "note-with-carriage-returns": ("a signature line ends with CR and LF", "the last LF is CR and LF",
                                   TEXT + b"\n" + LINE[:-1] + b"\r\n"),
}  # fmt: skip


def _malleable_signature(text: bytes) -> bytes:
    """The signature with the group order added to its second half; RFC 8032 requires verifiers to reject it."""
    signature = KEY.signature(text)
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    return KEY.key_id + signature[:32] + scalar.to_bytes(32, "little")


def _with_last_bit_changed(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


SMALLER_CHECKPOINT = checkpoint_of(LINES, 2)
SAME_NAME_KEY = SigningKey(KEY.name, OTHER_KEY.seed)

NOT_SIGNED_BY_THE_KEY: Mapping[str, tuple[str, str, bytes]] = {
    "note-unsigned": ("the checkpoint is not signed", "the signature is missing", TEXT),
    "note-signed-by-another-key": ("the checkpoint is signed with another key", "another key signed it",
        OTHER_KEY.signed(TEXT)),
    "note-signed-by-another-key-of-the-same-name": ("the checkpoint is signed with another key of the same name",
                                  "another key of that name signed it",
                                  SAME_NAME_KEY.signed(TEXT)),
    "note-with-a-wrong-key-id": ("the key's signature has another key id", "the key id belongs to another key",
                             TEXT + b"\n" + signature_line(KEY.name, OTHER_KEY.key_id + KEY.signature(TEXT))),
    "note-with-a-changed-signature": ("a signature was changed", "the last bit of the signature is changed",
                                      TEXT + b"\n" + signature_line(KEY.name, _with_last_bit_changed(SIGNATURE))),
    "note-with-the-signature-of-another-text": ("the signature covers another checkpoint",
                                                "the signature covers the checkpoint of two entries",
                                                TEXT + b"\n" + KEY.line(SMALLER_CHECKPOINT)),
    "note-with-a-malleable-signature": ("a signature whose second half is not below the order of the group",
                                        "the order is added to the signature's second half",
                                        TEXT + b"\n" + signature_line(KEY.name, _malleable_signature(TEXT))),
    "note-with-a-short-signature": ("a signature of 63 bytes", "the signature's last byte is missing",
                                    TEXT + b"\n" + signature_line(KEY.name, SIGNATURE[:-1])),
    "note-signed-twice-once-wrong": ("one of two signatures with the key is wrong",
                                     "a second signature of the key is wrong",
                                     TEXT + b"\n" + LINE + signature_line(KEY.name, _with_last_bit_changed(SIGNATURE))),
    "note-of-another-run-by-another-key": ("of two faults, the signature is reported first",
                                       "another key signed a checkpoint of another run",
                                       OTHER_KEY.signed(checkpoint_text(3, HASH, OTHER_RUN))),
}  # fmt: skip

MISMATCHES: Mapping[str, tuple[str, str, str, bytes]] = {
    "checkpoint-of-another-run": ("L507", "the checkpoint belongs to another run", "the origin has another run",
                                  checkpoint_text(3, HASH, OTHER_RUN)),
    "checkpoint-of-more-entries": ("L508", "the checkpoint covers more entries than the ledger has", "the size is 4",
                                   checkpoint_text(4, HASH)),
    "checkpoint-of-the-maximum-size": ("L508", "the largest size is well-formed, but exceeds the ledger",
    "the size is 2^53 - 1",
                                       checkpoint_text(2**53 - 1, HASH)),
    "checkpoint-of-another-root": ("L509", "the checkpoint has another root", "the root's last bit is changed",
                                   checkpoint_text(3, _with_last_bit_changed(HASH))),
    "checkpoint-of-fewer-entries-with-the-same-root": ("L509", "the root belongs to another number of entries",
                                                   "the size is 2",
                                                   checkpoint_text(2, HASH)),
    "checkpoint-of-no-entries-with-another-root": ("L509",
                                          "a checkpoint of no entries whose root is not the empty tree's",
                                          "the size is 0",
                                          checkpoint_text(0, HASH)),
}  # fmt: skip
"""By name: the code, the title, the mutation and the content of a checkpoint that does not match the ledger."""

VALID: Mapping[str, tuple[str, bytes]] = {
    "checkpoint": ("the checkpoint of all three entries", TEXT),
    "checkpoint-of-two-entries": ("the checkpoint of the first two entries", SMALLER_CHECKPOINT),
    "checkpoint-of-one-entry": (
        "the checkpoint of the first entry: its root is the line's hash",
        checkpoint_of(LINES, 1),
    ),
    "checkpoint-of-no-entries": (
        "the checkpoint of no entries: its root is the hash of the empty string",
        checkpoint_of(LINES, 0),
    ),
    "note": ("a signed checkpoint without a key", KEY.signed(TEXT)),
}

SIGNED: Mapping[str, tuple[str, bytes]] = {
    "note-signed": ("a checkpoint signed with the key", KEY.signed(TEXT)),
    "note-signed-by-two-keys": ("a checkpoint signed with two keys, the other one first",
        TEXT + b"\n" + OTHER_LINE + LINE),
    "note-signed-twice": ("a checkpoint signed twice with the key, correctly", TEXT + b"\n" + LINE + LINE),
    "note-with-an-unknown-signature": ("a signature of another type and length is ignored",
                                       TEXT + b"\n" + LINE + signature_line("witness.example", b"\1\2\3\4\5")),
}  # fmt: skip

CHECKPOINT = ("LEDGER-CHECKPOINT-001", "LEDGER-CHECKPOINT-003")
NOTE = ("LEDGER-CHECKPOINT-002", "LEDGER-CHECKPOINT-003")


def _case(
    name: str, title: str, content: bytes, *, code: str | None = None, mutation: str | None = None,
    origin: str | None = None, is_keyed: bool = False, requirements: tuple[str, ...] = CHECKPOINT,
) -> Case:  # fmt: skip
    files: Files = {"ledger.jsonl": ledger_of(LINES), "checkpoint": content}
    members = {"checkpoint": "checkpoint"}
    if is_keyed:
        files["key.pub"] = KEY.public_text
        members["key"] = "key.pub"
    return Case(
        name=name, title=title, requirements=requirements, level=5, files=files,
        findings=((code, None),) if code else (), not_checked=NOT_CHECKED, request_members=members,
        derived_from=origin, mutation=mutation,
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """Cases with the ledger of the worked example, a given checkpoint, and possibly a key."""
    for name, (title, content) in VALID.items():
        yield _case(name, title, content, requirements=NOTE if name == "note" else CHECKPOINT)
    for name, (title, content) in SIGNED.items():
        yield _case(name, title, content, is_keyed=True, requirements=NOTE)
    for name, (title, mutation, content) in MALFORMED_CHECKPOINTS.items():
        yield _case(name, title, content, code="L506", mutation=mutation, origin="proofs/checkpoint")
    for name, (title, mutation, content) in MALFORMED_NOTES.items():
        yield _case(name, title, content, code="L506", mutation=mutation, origin="proofs/note", requirements=NOTE)
    for name, (code, title, mutation, content) in MISMATCHES.items():
        yield _case(name, title, content, code=code, mutation=mutation, origin="proofs/checkpoint")
    for name, (title, mutation, content) in NOT_SIGNED_BY_THE_KEY.items():
        yield _case(
            name, title, content, code="L510", mutation=mutation, origin="proofs/note-signed",
            is_keyed=True, requirements=NOTE,
        )  # fmt: skip
