"""Checkpoints (C2SP tlog-checkpoint), signed notes (C2SP signed-note) and the keys that sign them."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from forum_conformance import ed25519
from forum_conformance.canonical import MAX_INTEGER

MAX_BYTES = 1 << 20
_RUN_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_CHECKPOINT_TEXT = re.compile(rf"forum/({_RUN_ID})\n(0|[1-9][0-9]*)\n([A-Za-z0-9+/]{{43}}=)\n")
_NAME = r"[^\s\x00-\x1f+]+"
_SIGNATURE_LINE = re.compile(rf"— ({_NAME}) ([A-Za-z0-9+/]+={{0,2}})")
_KEY = re.compile(rf"({_NAME})\+([0-9a-f]{{8}})\+([A-Za-z0-9+/]+={{0,2}})")
_ED25519_TYPE = b"\x01"
_KEY_ID_BYTES = 4
_PUBLIC_KEY_BYTES = 32
# The digits of MAX_INTEGER. Check the length first: Python refuses to parse very long integers.
_MAX_SIZE_DIGITS = 16


class MalformedCheckpoint(ValueError):
    """Bytes that are not a checkpoint, signed or unsigned."""


class MalformedKey(ValueError):
    """Text that is not the public key of a signed note."""


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    key_id: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    text: bytes
    run: str
    size: int
    root: bytes
    signatures: tuple[Signature, ...]

    def is_signed_by(self, key: "PublicKey") -> bool:
        return is_signed(self.text, self.signatures, key)


@dataclass(frozen=True, slots=True)
class PublicKey:
    name: str
    data: bytes

    @property
    def key_id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + _ED25519_TYPE + self.data).digest()[:_KEY_ID_BYTES]


def is_signed(text: bytes, signatures: tuple[Signature, ...], key: PublicKey) -> bool:
    """Whether the key signed the text.

    Signatures by other keys, with a different name or id, are ignored. Every signature by this key must be valid.
    """
    by_key = [signature for signature in signatures if (signature.name, signature.key_id) == (key.name, key.key_id)]
    return bool(by_key) and all(ed25519.verify(key.data, text, signature.data) for signature in by_key)


def read_checkpoint(data: bytes) -> Checkpoint:
    if len(data) > MAX_BYTES:
        raise MalformedCheckpoint(f"it has more than {MAX_BYTES} bytes")
    try:
        note = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedCheckpoint("it is not UTF-8") from error
    match = _CHECKPOINT_TEXT.match(note)
    if not match:
        raise MalformedCheckpoint("it does not begin with an origin, a size and a root")
    run, digits, root = match.groups()
    if len(digits) > _MAX_SIZE_DIGITS or int(digits) > MAX_INTEGER:
        raise MalformedCheckpoint("its number of entries is out of range")
    rest = note[match.end() :]
    signatures = read_signatures(rest[1:]) if rest.startswith("\n") else ()
    if rest and not signatures:
        raise MalformedCheckpoint("the text is not followed by signatures")
    return Checkpoint(match.group().encode(), run, int(digits), _strict_base64(root), signatures)


def read_signatures(text: str) -> tuple[Signature, ...]:
    """The signatures in the lines after the text of a note."""
    *lines, rest = text.split("\n")
    if rest:
        raise MalformedCheckpoint("its last line does not end with LF")
    return tuple(_read_signature(line) for line in lines)


def _read_signature(line: str) -> Signature:
    match = _SIGNATURE_LINE.fullmatch(line)
    if not match:
        raise MalformedCheckpoint("malformed signature line")
    data = _strict_base64(match.group(2))
    if len(data) <= _KEY_ID_BYTES:
        raise MalformedCheckpoint("a signature is too short")
    return Signature(match.group(1), data[:_KEY_ID_BYTES], data[_KEY_ID_BYTES:])


def _strict_base64(text: str) -> bytes:
    """Decode standard base64. Reject non-zero padding bits, which Python's decoder accepts."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise MalformedCheckpoint(f"it is not base64: {error}") from error
    if base64.b64encode(data).decode() != text:
        raise MalformedCheckpoint("it is not standard base64")
    return data


def read_public_key(text: str) -> PublicKey:
    match = _KEY.fullmatch(text.strip(" \t\r\n"))
    if not match:
        raise MalformedKey("it is not a name, an id and a public key, separated by '+'")
    try:
        data = _strict_base64(match.group(3))
    except MalformedCheckpoint as error:
        raise MalformedKey(str(error)) from error
    key = PublicKey(match.group(1), data[1:])
    if data[:1] != _ED25519_TYPE or len(key.data) != _PUBLIC_KEY_BYTES:
        raise MalformedKey("it is not an Ed25519 key")
    if key.key_id.hex() != match.group(2):
        raise MalformedKey("its id does not match its name and its bytes")
    return key


def checkpoint_text(run: str, size: int, root: bytes) -> bytes:
    return f"forum/{run}\n{size}\n{base64.b64encode(root).decode()}\n".encode()
