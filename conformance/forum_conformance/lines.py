"""The lines of a ledger, as bytes: where each ends, and its hash."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAX_LINE_BYTES = 65_535


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    """From 0: the seq that its entry must have."""
    content: bytes | None
    """The line without its LF; None if it is longer than `MAX_LINE_BYTES`."""
    hash: bytes


class Lines:
    """Reads a stream line by line. After the last line, `torn_bytes` is the number of bytes that follow its LF."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.torn_bytes = 0

    def __iter__(self) -> Iterator[Line]:
        number = 0
        while piece := self._read_piece():
            # Hash the bytes as found: a line that its writer failed to canonicalize must not be repaired here.
            hasher = hashlib.sha256(b"\x00")
            length = len(piece)
            first = piece
            while not piece.endswith(b"\n"):
                hasher.update(piece)
                piece = self._read_piece()
                if not piece:
                    self.torn_bytes = length
                    return
                length += len(piece)
            hasher.update(piece[:-1])
            yield Line(number, first[:-1] if length == len(first) else None, hasher.digest())
            number += 1

    def _read_piece(self) -> bytes:
        # Enough for the longest valid line and its LF. A longer line is read in pieces, never as a whole into memory.
        return self._stream.readline(MAX_LINE_BYTES + 1)
