"""Reads single bodies from an archive. It scans the archive once, as far as needed, and keeps only positions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from forum_runner.ledger.archive import BLOCK, PLAIN, SALT_BYTES, SALTED, commitment, padding, parse_header
from forum_runner.ledger.entry_values import BodyReference


class BodyReader:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        # Offset and size of each member's content. Only an invalid archive has several members of one name.
        self._places: dict[str, tuple[int, int]] = {}
        self._duplicates: dict[str, list[tuple[int, int]]] = {}
        self._reached = 0

    def read(self, body: BodyReference) -> bytes | None:
        """The bytes of a body; None if they are missing or wrong. If several members have its name, one is enough."""
        is_salted = body.salted is not None
        size = body.bytes + (SALT_BYTES if is_salted else 0)
        for place in self._places_of(f"{SALTED if is_salted else PLAIN}/{body.digest}"):
            # A header may claim any size: content of another size than the entry's is not read.
            content = self._content(place) if place[1] == size else None
            if content is None:
                continue
            found = commitment(content) if is_salted else hashlib.sha256(content).hexdigest()
            if found == body.digest:
                return content[SALT_BYTES:] if is_salted else content
        return None

    def content(self, name: str) -> bytes | None:
        """The stored content of a member."""
        place = self.place(name)
        return self._content(place) if place is not None else None

    def _content(self, place: tuple[int, int]) -> bytes | None:
        offset, size = place
        self._stream.seek(offset)
        content = self._stream.read(size)
        return content if len(content) == size else None

    def place(self, name: str) -> tuple[int, int] | None:
        """The offset and size of a member's content."""
        while name not in self._places:
            if not self._scan_member():
                return None
        return self._places[name]

    def _places_of(self, name: str) -> Iterator[tuple[int, int]]:
        first = self.place(name)
        if first is None:
            return
        yield first
        while self._scan_member():
            pass
        yield from self._duplicates.get(name, ())

    def _scan_member(self) -> bool:
        self._stream.seek(self._reached)
        parsed = parse_header(self._stream.read(BLOCK))
        if parsed is None:
            return False
        size = parsed[1]
        # A member with wrong padding is malformed, so nothing after it can be read.
        self._stream.seek(size, os.SEEK_CUR)
        if self._stream.read(padding(size)) != bytes(padding(size)):
            return False
        name, place = parsed[0].decode("latin-1"), (self._reached + BLOCK, size)
        if self._places.setdefault(name, place) is not place:
            self._duplicates.setdefault(name, []).append(place)
        self._reached += BLOCK + size + padding(size)
        return True
