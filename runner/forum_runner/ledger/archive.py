"""bodies.tar: a ustar archive in one fixed form, so that its bodies determine every byte of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

PLAIN = "sha256"
SALTED = "salted"
REDACTED = "redacted"

BLOCK = 512
END = bytes(2 * BLOCK)
MAX_BODY_BYTES = 8**11 - 1
SALT_BYTES = 32
# A larger part of a member is written without a copy.
LARGE_BYTES = 1 << 20

_SALT_TAG = b"forum:salted:v1\n"
_CHUNK = 1 << 20
_NAME_BYTES = 100
_SIZE = slice(124, 135)
_OCTAL = frozenset(b"01234567")
# Mode, owner and group before the size; the time after it; type, version and device numbers after the checksum.
_BEFORE_SIZE = b"0000644\0" + 2 * b"0000000\0"
_AFTER_SIZE = b"\0" + b"00000000000\0"
_AFTER_SUM = b"0" + bytes(100) + b"ustar\x0000" + bytes(64) + 2 * b"0000000\0" + bytes(167)
# The checksum is the sum of all bytes of the header. Its own eight bytes count as spaces.
_FIXED_SUM = sum(_BEFORE_SIZE + _AFTER_SIZE + 8 * b" " + _AFTER_SUM)


def commitment(salted: bytes, *more: bytes) -> str:
    """The digest of a salted body: of its salt and its bytes, in one or more parts."""
    hasher = hashlib.sha256(_SALT_TAG + salted)
    for part in more:
        hasher.update(part)
    return hasher.hexdigest()


def header(name: bytes, size: int) -> bytes:
    octal = b"%011o" % size
    checksum = _FIXED_SUM + sum(name) + sum(octal)
    padded = name.ljust(_NAME_BYTES, b"\0")
    return b"%b%b%b%b%06o\0 %b" % (padded, _BEFORE_SIZE, octal, _AFTER_SIZE, checksum, _AFTER_SUM)


def padding(size: int) -> int:
    return -size % BLOCK


def member_parts(digest: str, salt: bytes, data: bytes) -> tuple[bytes, bytes, bytes]:
    """Header and salt; the bytes of the body, without a copy; and the padding. The salt of a plain body is empty."""
    size = len(salt) + len(data)
    head = header(f"{SALTED if salt else PLAIN}/{digest}".encode(), size)
    return head + salt if salt else head, data, bytes(-size % BLOCK)


def parse_header(head: bytes) -> tuple[bytes, int] | None:
    """The name and the size in a header; None if the header has another form."""
    name = head[:_NAME_BYTES].partition(b"\0")[0]
    digits = head[_SIZE]
    if len(head) != BLOCK or not _OCTAL.issuperset(digits):
        return None
    size = int(digits, 8)
    return (name, size) if head == header(name, size) else None


@dataclass(frozen=True, slots=True)
class Member:
    """A member as found. `digest` is the digest of its content; in the folder of salted bodies, the commitment."""

    name: str
    digest: str
    offset: int
    size: int
    is_zero: bool

    @property
    def folder(self) -> str:
        return self.name.partition("/")[0]

    @property
    def named(self) -> str:
        return self.name.partition("/")[2]

    @property
    def end(self) -> int:
        return self.offset + BLOCK + self.size + padding(self.size)


class Archive:
    """Reads the members of an archive in order. Afterwards `end` is the offset after the last one."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.end = 0
        self.is_ended = False
        self.is_torn = False

    def members(self) -> Iterator[Member]:
        while (found := self._member(head := self._stream.read(BLOCK))) is not None:
            self.end = found.end
            yield found
        # After the last member: the end of the archive, the end of the file, or other bytes.
        rest = self._stream.read(BLOCK + 1) if len(head) == BLOCK else b""
        self.is_ended = head + rest == END
        self.is_torn = bool(head) and not self.is_ended

    def _member(self, head: bytes) -> Member | None:
        parsed = parse_header(head)
        if parsed is None:
            return None
        name, size = parsed[0].decode("latin-1"), parsed[1]
        hasher = hashlib.sha256(_SALT_TAG if name.startswith(f"{SALTED}/") else b"")
        left, is_zero = size, True
        while left:
            chunk = self._stream.read(min(_CHUNK, left))
            if not chunk:
                return None
            hasher.update(chunk)
            is_zero = is_zero and chunk.count(0) == len(chunk)
            left -= len(chunk)
        if self._stream.read(padding(size)) != bytes(padding(size)):
            return None
        return Member(name, hasher.hexdigest(), self.end, size, is_zero)
