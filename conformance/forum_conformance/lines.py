"""The lines of a ledger, as bytes: where each ends, and its hash."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAX_LINE_BYTES = 65_535


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    content: bytes | None
    """Without its LF; None if it is longer than a line may be."""
    hash: bytes


class Lines:
    """Reads a stream line by line. Once it is read, `torn_bytes` says how many bytes follow the last LF."""

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
        # Space for the longest line and its LF: a longer one is read in chunks and never held in memory as a whole.
        return self._stream.readline(MAX_LINE_BYTES + 1)
