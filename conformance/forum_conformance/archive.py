"""Scan bodies.tar once: its members, their content, and the offset where well-formed members end."""

import hashlib
import re
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO

BLOCK = 512
SALT_BYTES = 32
SALT_TAG = b"forum:salted:v1\n"
END_OF_ARCHIVE = bytes(2 * BLOCK)
FOLDERS = ("sha256", "salted", "redacted")
_CHUNK_BYTES = 1 << 16
_NAME = re.compile(rf"({'|'.join(FOLDERS)})/([0-9a-f]{{64}})")


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    offset: int
    """The offset of its content."""
    size: int
    content_digest: str
    """The SHA-256 of its content; for a member in `salted/`, of SALT_TAG followed by its content."""
    plain_digest: str
    """The SHA-256 of its body's bytes, without a salt."""
    is_all_zeros: bool

    @property
    def folder_and_digest(self) -> tuple[str, str] | None:
        """The two parts of the name; None if it is malformed."""
        match = _NAME.fullmatch(self.name)
        return (match.group(1), match.group(2)) if match else None

    @property
    def end(self) -> int:
        """The offset after its padding."""
        return self.offset + self.size + -self.size % BLOCK


class Rest(Enum):
    """The bytes after the last well-formed member."""

    NOTHING = "nothing"
    END = "the end of the archive"
    OTHER = "other bytes"


@dataclass(frozen=True, slots=True)
class Archive:
    members: tuple[Member, ...]
    stopped_at: int
    """Where the scan stopped: the end of the last well-formed member, or 0."""
    rest: Rest
    """The bytes from that offset on."""


def scan(stream: BinaryIO) -> Archive:
    members: list[Member] = []
    stopped_at = 0
    while member := _read_member(stream, stopped_at):
        members.append(member)
        stopped_at = member.end
    stream.seek(stopped_at)
    rest_bytes = stream.read(len(END_OF_ARCHIVE) + 1)
    rest = {b"": Rest.NOTHING, END_OF_ARCHIVE: Rest.END}.get(rest_bytes, Rest.OTHER)
    return Archive(tuple(members), stopped_at, rest)


def header(name: bytes, size: int) -> bytes:
    """The only header allowed for a member."""
    before_checksum = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"00000000000\0"
    after_checksum = b"0" + bytes(100) + b"ustar\0" + b"00" + bytes(64) + b"0000000\0" * 2 + bytes(155) + bytes(12)
    checksum = sum(before_checksum) + 8 * ord(" ") + sum(after_checksum)
    return before_checksum + b"%06o\0 " % checksum + after_checksum


def _read_member(stream: BinaryIO, start: int) -> Member | None:
    stream.seek(start)
    block = stream.read(BLOCK)
    name = block[:100].rstrip(b"\0")
    digits = block[124:135]
    if not re.fullmatch(rb"[0-7]{11}", digits) or b"\0" in name or block != header(name, int(digits, 8)):
        return None
    return _read_content(stream, name.decode("latin-1"), start + BLOCK, int(digits, 8))


def _read_content(stream: BinaryIO, name: str, offset: int, size: int) -> Member | None:
    is_salted = name.startswith("salted/")
    content, plain = hashlib.sha256(SALT_TAG if is_salted else b""), hashlib.sha256()
    remaining_salt = SALT_BYTES if is_salted else 0
    is_all_zeros = True
    remaining = size
    while remaining:
        chunk = stream.read(min(remaining, _CHUNK_BYTES))
        if not chunk:
            return None
        content.update(chunk)
        plain.update(chunk[remaining_salt:])
        remaining_salt = max(0, remaining_salt - len(chunk))
        is_all_zeros = is_all_zeros and not chunk.strip(b"\0")
        remaining -= len(chunk)
    padding = -size % BLOCK
    if stream.read(padding) != bytes(padding):
        return None
    return Member(name, offset, size, content.hexdigest(), plain.hexdigest(), is_all_zeros)
