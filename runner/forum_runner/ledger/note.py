"""C2SP signed notes with Ed25519: a text, its signature lines, and the keys that sign and verify it.

Keys and notes use the format of Go's golang.org/x/mod/sumdb/note.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from forum_runner.errors import ForumError

KEY_BYTES = 32
_ID_BYTES = 4
_ED25519 = b"\x01"
_PRIVATE_KEY_PREFIX = "PRIVATE+KEY+"
_SIGNATURE_PREFIX = "\N{EM DASH} "
_CONTROL_CHARACTER = re.compile(r"[\x00-\x09\x0b-\x1f]")
_KEY_ID = re.compile(r"[0-9a-f]{8}")
_NAME = re.compile(r"[^\s+\x00-\x1f\ud800-\udfff]+")


class MalformedNoteError(ForumError):
    """The bytes are not a signed note."""


class MalformedKeyError(ForumError):
    """The text is not a key, or a key name is invalid. The message never repeats the text, which may be a secret."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature line. `value` is the signature itself: 64 bytes for Ed25519, any length for other algorithms."""

    name: str
    key_id: bytes
    value: bytes

    def line(self) -> str:
        return f"{_SIGNATURE_PREFIX}{self.name} {_to_base64(self.key_id + self.value)}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A text that ends with LF, and its signatures. A note without signatures is encoded as the text alone."""

    text: str
    signatures: tuple[Signature, ...] = ()

    def encode(self) -> bytes:
        lines = "".join(signature.line() for signature in self.signatures)
        return f"{self.text}\n{lines}".encode() if lines else self.text.encode()

    def with_signature(self, key: SignerKey) -> Note:
        return Note(self.text, (*self.signatures, key.sign(self.text)))

    def is_signed_by(self, key: VerifierKey) -> bool:
        """Whether the note has a signature by this key, and all its signatures by this key are valid."""
        claimed = [item for item in self.signatures if (item.name, item.key_id) == (key.name, key.id)]
        return bool(claimed) and all(key.verifies(item.value, self.text) for item in claimed)


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key and its name."""

    name: str
    public: bytes

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        if text.startswith(_PRIVATE_KEY_PREFIX):
            raise MalformedKeyError("it is a private key; pass the public key")
        name, key_id, public = _split_key(text)
        key = cls(name, public)
        if key.id != key_id:
            raise MalformedKeyError("its id does not match its name and key")
        return key

    def encode(self) -> str:
        return f"{self.name}+{self.id.hex()}+{_to_base64(_ED25519 + self.public)}"

    @property
    def id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + _ED25519 + self.public).digest()[:_ID_BYTES]

    def verifies(self, signature: bytes, text: str) -> bool:
        """Whether `signature` is a valid signature of `text` by this key."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SignerKey:
    """A private key and its name. Its `repr` does not contain the seed."""

    name: str
    seed: bytes = field(repr=False)

    @classmethod
    def generate(cls, name: str, random: Callable[[int], bytes]) -> SignerKey:
        """A key with a random seed. `random` returns the requested number of random bytes."""
        _check_name(name)
        return cls(name, random(KEY_BYTES))

    @classmethod
    def parse(cls, text: str) -> SignerKey:
        if not text.startswith(_PRIVATE_KEY_PREFIX):
            _split_key(text)
            raise MalformedKeyError("it is a public key; pass the private key")
        name, key_id, seed = _split_key(text.removeprefix(_PRIVATE_KEY_PREFIX))
        key = cls(name, seed)
        if key.verifier().id != key_id:
            raise MalformedKeyError("its id does not match its name and key")
        return key

    def encode(self) -> str:
        return f"{_PRIVATE_KEY_PREFIX}{self.name}+{self.verifier().id.hex()}+{_to_base64(_ED25519 + self.seed)}"

    def verifier(self) -> VerifierKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return VerifierKey(self.name, Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw())

    def sign(self, text: str) -> Signature:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        value = Ed25519PrivateKey.from_private_bytes(self.seed).sign(text.encode())
        return Signature(self.name, self.verifier().id, value)


def read_note(data: bytes) -> Note:
    """Parses a note with at least one signature. The last blank line separates the text from the signatures."""
    try:
        decoded = data.decode()
    except UnicodeDecodeError as error:
        raise MalformedNoteError("it is not UTF-8") from error
    if _CONTROL_CHARACTER.search(decoded):
        raise MalformedNoteError("it contains a control character")
    text, separator, lines = decoded.rpartition("\n\n")
    if not separator or not lines:
        raise MalformedNoteError("it has no signatures (no blank line followed by signature lines)")
    if not lines.endswith("\n"):
        raise MalformedNoteError("its last line does not end with LF")
    return Note(f"{text}\n", tuple(_read_signature(line) for line in lines[:-1].split("\n")))


def from_base64(text: str) -> bytes | None:
    """Decodes standard base64. Returns None if the text is not valid, canonical base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if _to_base64(data) == text else None


def _read_signature(line: str) -> Signature:
    name, _, encoded = line.removeprefix(_SIGNATURE_PREFIX).partition(" ")
    data = from_base64(encoded)
    if not line.startswith(_SIGNATURE_PREFIX) or not _NAME.fullmatch(name) or data is None or len(data) <= _ID_BYTES:
        form = f"'{_SIGNATURE_PREFIX}NAME BASE64', where BASE64 encodes the key id and the signature"
        raise MalformedNoteError(f"a signature line must have the form {form}")
    return Signature(name, data[:_ID_BYTES], data[_ID_BYTES:])


def _split_key(text: str) -> tuple[str, bytes, bytes]:
    """The name, the id and the 32 bytes of a key. Splits at the first two plus signs: base64 may contain more."""
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    data = from_base64(encoded)
    if not _KEY_ID.fullmatch(key_id) or data is None:
        raise MalformedKeyError("it does not have the form NAME+ID+BASE64, with an ID of eight hexadecimal digits")
    _check_name(name)
    if data[:1] != _ED25519 or len(data) != 1 + KEY_BYTES:
        raise MalformedKeyError("it is not an Ed25519 key")
    return name, bytes.fromhex(key_id), data[1:]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise MalformedKeyError("a key name cannot be empty or contain whitespace, control characters or '+'")


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
