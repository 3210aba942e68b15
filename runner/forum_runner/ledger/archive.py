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
END_OF_ARCHIVE = bytes(2 * BLOCK)
MAX_BODY_BYTES = 8**11 - 1
SALT_BYTES = 32
# Up to this size, the bodies of a commit are joined for one write. Larger ones are written without a copy.
LARGE_BYTES = 1 << 20

_SALT_TAG = b"forum:salted:v1\n"
_CHUNK_BYTES = 1 << 20
_NAME_BYTES = 100
_SIZE_FIELD = slice(124, 135)
_OCTAL_DIGITS = frozenset(b"01234567")
# The fixed fields: mode, owner and group; the end of the size, and the time; the type, version and device numbers.
_BEFORE_SIZE = b"0000644\0" + 2 * b"0000000\0"
_AFTER_SIZE = b"\0" + b"00000000000\0"
_AFTER_SUM = b"0" + bytes(100) + b"ustar\x0000" + bytes(64) + 2 * b"0000000\0" + bytes(167)
# The checksum is the sum of all bytes of the header. Its own eight bytes count as spaces.
_FIXED_SUM = sum(_BEFORE_SIZE + _AFTER_SIZE + 8 * b" " + _AFTER_SUM)


def commitment(first: bytes, *more: bytes) -> str:
    """The digest of a salted body. The parts are its salt, followed by its bytes."""
    hasher = hashlib.sha256(_SALT_TAG + first)
    for part in more:
        hasher.update(part)
    return hasher.hexdigest()


def header(name: bytes, size: int) -> bytes:
    """The header of a member."""
    octal = b"%011o" % size
    checksum = _FIXED_SUM + sum(name) + sum(octal)
    padded = name.ljust(_NAME_BYTES, b"\0")
    return b"%b%b%b%b%06o\0 %b" % (padded, _BEFORE_SIZE, octal, _AFTER_SIZE, checksum, _AFTER_SUM)


def padding(size: int) -> int:
    """The number of zeros after content of this size."""
    return -size % BLOCK


def member_parts(digest: str, salt: bytes, data: bytes) -> tuple[bytes, bytes, bytes]:
    """A member in three parts: header and salt; `data` itself, not a copy; padding. A plain body has an empty salt."""
    size = len(salt) + len(data)
    head = header(f"{SALTED if salt else PLAIN}/{digest}".encode(), size)
    return head + salt if salt else head, data, bytes(-size % BLOCK)


def parse_header(head: bytes) -> tuple[bytes, int] | None:
    """The name and the size in a header; None if the header is not in the fixed form."""
    name = head[:_NAME_BYTES].partition(b"\0")[0]
    digits = head[_SIZE_FIELD]
    if len(head) != BLOCK or not _OCTAL_DIGITS.issuperset(digits):
        return None
    size = int(digits, 8)
    return (name, size) if head == header(name, size) else None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the archive. Its name is a folder and `named_digest`; `digest` is computed from its content.

    `is_zero` is True if the content is all zeros, as in a redacted body.
    """

    name: str
    digest: str
    offset: int
    size: int
    is_zero: bool

    @property
    def folder(self) -> str:
        return self.name.partition("/")[0]

    @property
    def named_digest(self) -> str:
        return self.name.partition("/")[2]

    @property
    def end(self) -> int:
        return self.offset + BLOCK + self.size + padding(self.size)


class Archive:
    """Reads the members of an archive in order. Afterwards, `end` is the offset after the last one.

    `has_end_marker` is True if the archive is complete, and `is_torn` if other bytes follow the last member.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.end = 0
        self.has_end_marker = False
        self.is_torn = False

    def members(self) -> Iterator[Member]:
        while (member := self._member(head := self._stream.read(BLOCK))) is not None:
            self.end = member.end
            yield member
        rest = self._stream.read(BLOCK + 1) if len(head) == BLOCK else b""
        self.has_end_marker = head + rest == END_OF_ARCHIVE
        self.is_torn = bool(head) and not self.has_end_marker

    def _member(self, head: bytes) -> Member | None:
        """The member with this header; None if its header, content or padding is malformed or incomplete."""
        parsed = parse_header(head)
        if parsed is None:
            return None
        name, size = parsed[0].decode("latin-1"), parsed[1]
        hasher = hashlib.sha256(_SALT_TAG if name.startswith(f"{SALTED}/") else b"")
        unread, is_zero = size, True
        while unread:
            chunk = self._stream.read(min(_CHUNK_BYTES, unread))
            if not chunk:
                return None
            hasher.update(chunk)
            is_zero = is_zero and chunk.count(0) == len(chunk)
            unread -= len(chunk)
        if self._stream.read(padding(size)) != bytes(padding(size)):
            return None
        return Member(name, hasher.hexdigest(), self.end, size, is_zero)
