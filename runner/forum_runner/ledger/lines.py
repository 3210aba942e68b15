"""Reads the lines of a ledger, byte for byte. Only LF ends a line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

from forum_runner.ledger.layout import MAX_LINE_BYTES, leaf_hash

BUFFER_BYTES = 65_536
MAX_HELD_BYTES = 1_048_576
_LF = 10


class LongLine(bytes):
    """The beginning of a line that is too long to hold in memory.

    `length` and `leaf`, the hash, are those of the complete line.
    """

    length: int
    leaf: bytes


def length_of(line: bytes) -> int:
    return line.length if isinstance(line, LongLine) else len(line)


def leaf_of(line: bytes) -> bytes:
    """The hash of the complete line."""
    return line.leaf if isinstance(line, LongLine) else leaf_hash(line)


class Lines:
    """Iterates once over the lines of a stream, without their LF. Afterwards `torn` has the bytes after the last LF.

    A line of `MAX_HELD_BYTES` or more is a `LongLine`, so that even a file without LF needs constant memory.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.torn: bytes = b""

    def __iter__(self) -> Iterator[bytes]:
        # `readline` finds the LF with memchr, four times as fast as `bytes.split`.
        readline = self._stream.readline
        while line := readline(MAX_HELD_BYTES):
            if line[-1] == _LF:
                yield line[:-1]
            elif len(line) < MAX_HELD_BYTES:
                self.torn = line
            else:
                yield from self._long_line(line)

    def _long_line(self, beginning: bytes) -> Iterator[bytes]:
        length = len(beginning)
        hasher = hashlib.sha256(b"\0" + beginning)
        part = beginning
        while part and part[-1] != _LF:
            part = self._stream.readline(MAX_HELD_BYTES)
            length += len(part)
            hasher.update(part.removesuffix(b"\n"))
        line = LongLine(beginning[: MAX_LINE_BYTES + 1])
        line.leaf = hasher.digest()
        if part:
            line.length = length - 1
            yield line
        else:
            line.length = length
            self.torn = line
