"""The causes of an entry, their causes, and so on, read from the end of a ledger to its beginning."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from forum_runner.ledger.lines import MAX_HELD_BYTES
from forum_runner.ledger.read_entry import ReadEntry, read_entry

_CHUNK_BYTES = 262_144


def lines_backwards(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, the last one first, without a torn tail and lines of more than `MAX_HELD_BYTES`.

    The file is not mapped: if a writer truncated a torn tail meanwhile, reading the mapping would kill the process.
    """
    end = os.fstat(stream.fileno()).st_size
    rest, is_skipped = b"", True
    while end > 0:
        start = max(0, end - _CHUNK_BYTES)
        pieces = (os.pread(stream.fileno(), end - start, start) + rest).split(b"\n")
        while len(pieces) > 1:
            line = pieces.pop()
            if not is_skipped:
                yield line
            is_skipped = False
        rest, end = pieces[0], start
        if len(rest) > MAX_HELD_BYTES:
            rest, is_skipped = b"", True
    if not is_skipped:
        yield rest


@dataclass(slots=True)
class Trace:
    """Finds the entry `seq` and everything that it follows from, in one pass from the end.

    After the pass, `missing` are the causes that do not exist, and `last` is the seq of the last entry.
    """

    seq: int
    missing: set[int] = field(default_factory=set)
    last: int | None = None

    def entries(self, stream: BinaryIO) -> Iterator[tuple[bytes, ReadEntry]]:
        self.missing = {self.seq}
        for line in lines_backwards(stream):
            entry = read_entry(line)
            if entry is None:
                continue
            if self.last is None:
                self.last = entry.seq
            if entry.seq in self.missing:
                self.missing.discard(entry.seq)
                self.missing.update(cause for cause in entry.causes if cause < entry.seq)
                yield line, entry
                if not self.missing:
                    return
