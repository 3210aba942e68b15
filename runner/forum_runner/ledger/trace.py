"""Finds the causes of an entry, their causes, and so on. It reads the ledger backwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from forum_runner.errors import UsageError
from forum_runner.ledger.lines import MAX_HELD_BYTES
from forum_runner.ledger.read_entry import ReadEntry, read_entry

_CHUNK_BYTES = 262_144


def lines_backwards(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, the last one first. Skips a torn tail, and lines of more than `MAX_HELD_BYTES`.

    The file is not memory-mapped: if a writer truncated a torn tail, reading the mapping would kill the process.
    """
    end = os.fstat(stream.fileno()).st_size
    # The beginning of the line that ends after `end`, and whether that line is skipped.
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


@dataclass(frozen=True, slots=True)
class TracedEntry:
    """An entry and its line. `entry` is None if the ledger has no entry with this seq."""

    seq: int
    entry: ReadEntry | None = None
    line: bytes = b""


def trace_entry(stream: BinaryIO, seq: int, name: str) -> Iterator[TracedEntry]:
    """Finds the entry `seq` and all its direct and indirect causes, in one pass from the end of the ledger.

    Causes that do not exist come last. Raises UsageError if the entry itself does not exist in the ledger `name`.
    """
    pending, last = {seq}, None
    for line in lines_backwards(stream):
        entry = read_entry(line)
        if entry is None:
            continue
        last = entry.seq if last is None else last
        if entry.seq in pending:
            pending.discard(entry.seq)
            pending.update(cause for cause in entry.causes if cause < entry.seq)
            yield TracedEntry(entry.seq, entry, line)
            if not pending:
                return
    if seq in pending:
        reason = "it has no entries" if last is None else f"its last entry is {last:,}"
        raise UsageError(f"'{name}' has no entry {seq:,}: {reason}")
    yield from map(TracedEntry, sorted(pending))
