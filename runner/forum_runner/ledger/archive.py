"""bodies.tar: a ustar archive with one form only, so that every byte of it is known from what it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO
from zlib import adler32

PLAIN = "sha256"
SALTED = "salted"
REDACTED = "redacted"

BLOCK = 512
END = bytes(2 * BLOCK)
MAX_BODY_BYTES = 8**11 - 1
SALT_BYTES = 32
# A body of more bytes than that is never copied: it goes to the archive from where it is.
LARGE_BYTES = 1 << 20

_SALT_TAG = b"forum:salted:v1\n"
_CHUNK = 1 << 20
_NAME_BYTES = 100
_SIZE = slice(124, 135)
_OCTAL = frozenset(b"01234567")
# Adler-32 keeps the sum of the bytes in its lower half, beside a one: a name is too short to overflow it.
_SUM = 0xFFFF
_SUM_OF_NOTHING = 1


def commitment(salted: bytes) -> str:
    """The digest of a salted body, given its salt and its bytes in one."""
    return hashlib.sha256(_SALT_TAG + salted).hexdigest()


def large_commitment(salt: bytes, data: bytes) -> str:
    """As `commitment`, without a copy of the bytes."""
    hasher = hashlib.sha256(_SALT_TAG + salt)
    hasher.update(data)
    return hasher.hexdigest()


def header(name: bytes, size: int) -> bytes:
    before, after, rest, _ = _frame(size)
    return b"".join((name.ljust(_NAME_BYTES, b"\0"), before, b"%06o\0 " % (rest + (adler32(name) & _SUM)), after))


def padding(size: int) -> int:
    return -size % BLOCK


def member(folder: str, digest: str, content: bytes) -> bytes:
    """In one go, as it is done for every body that is written."""
    before, after, rest, pad = _frame(len(content))
    name = f"{folder}/{digest}".encode()
    checksum = b"%06o\0 " % (rest + (adler32(name) & _SUM))
    return b"".join((name.ljust(_NAME_BYTES, b"\0"), before, checksum, after, content, pad))


# What stands before the bytes of a large body, the bytes, and the padding.
LargeMember = tuple[bytes, bytes, bytes]


def large_member(salt: bytes, folder: str, digest: str, data: bytes) -> LargeMember:
    """As `member`, of a salt, which may be empty, and the bytes that follow it."""
    size = len(salt) + len(data)
    return header(f"{folder}/{digest}".encode(), size) + salt, data, bytes(padding(size))


@lru_cache(maxsize=4096)
def _frame(size: int) -> tuple[bytes, bytes, int, bytes]:
    """What a header holds before and after its checksum, the name left out; what the sum of the name is to be added to;
    and the padding."""
    before = b"0000644\x000000000\x000000000\x00%011o\x0000000000000\x00" % size
    after = b"0" + bytes(100) + b"ustar\x0000" + bytes(64) + b"0000000\x000000000\x00" + bytes(167)
    rest = sum(before) + sum(after) + 8 * ord(" ")
    return before, after, rest - _SUM_OF_NOTHING, bytes(padding(size))


def parse_header(head: bytes) -> tuple[bytes, int] | None:
    """The name and the size that a header gives, if it is one of the only form."""
    name = head[:_NAME_BYTES].partition(b"\0")[0]
    digits = head[_SIZE]
    if len(head) != BLOCK or not _OCTAL.issuperset(digits):
        return None
    size = int(digits, 8)
    return (name, size) if head == header(name, size) else None


@dataclass(frozen=True, slots=True)
class Member:
    """A member as found. `digest` is that of its content: the commitment, where it stands among the salted ones."""

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
    """Reads the members of an archive in order; then `end` is where reading ended, and `tail` what stands there."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.end = 0
        self.is_ended = False
        self.is_torn = False

    def members(self) -> Iterator[Member]:
        read = self._stream.read
        while True:
            head = read(BLOCK)
            found = self._member(head, read) if len(head) == BLOCK else None
            if found is None:
                self._finish(head)
                return
            self.end = found.end
            yield found

    def _member(self, head: bytes, read: Callable[[int], bytes]) -> Member | None:
        parsed = parse_header(head)
        if parsed is None:
            return None
        name, size = parsed
        is_salted = name.startswith(b"salted/")
        pad = padding(size)
        if size <= _CHUNK:
            content = read(size + pad)
            if len(content) != size + pad or (pad and content.count(0, size) != pad):
                return None
            body = content[:size]
            digest = commitment(body) if is_salted else hashlib.sha256(body).hexdigest()
            is_zero = body.count(0) == size if name.startswith(b"redacted/") else False
            return Member(name.decode("latin-1"), digest, self.end, size, is_zero)
        return self._large(name.decode("latin-1"), size, hashlib.sha256(_SALT_TAG if is_salted else b""))

    def _large(self, name: str, size: int, hasher: hashlib._Hash) -> Member | None:
        left = size
        is_zero = True
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

    def _finish(self, head: bytes) -> None:
        """At the end of the archive, at the end of the file, or where something else stands."""
        rest = self._stream.read(BLOCK + 1) if len(head) == BLOCK else b""
        self.is_ended = head + rest == END
        self.is_torn = bool(head) and not self.is_ended
