"""Reads single bodies from an archive. It scans the archive once, as far as needed, and remembers the positions."""

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
        self._locations: dict[str, tuple[int, int]] = {}
        self._duplicates: dict[str, list[tuple[int, int]]] = {}
        # The offset of the first member that has not been scanned.
        self._scanned_to = 0

    def read(self, body: BodyReference) -> bytes | None:
        """The bytes of a body; None if they are missing or wrong. If several members have its name, one is enough."""
        is_salted = body.salted is not None
        size = body.bytes + (SALT_BYTES if is_salted else 0)
        for location in self._locations_of(f"{SALTED if is_salted else PLAIN}/{body.digest}"):
            # A header may claim any size: content whose size differs from the entry's is not read.
            content = self._content(location) if location[1] == size else None
            if content is None:
                continue
            computed = commitment(content) if is_salted else hashlib.sha256(content).hexdigest()
            if computed == body.digest:
                return content[SALT_BYTES:] if is_salted else content
        return None

    def content(self, name: str) -> bytes | None:
        """The content of a member, which starts with the salt if the body is salted; None if it is missing."""
        location = self.locate(name)
        return self._content(location) if location is not None else None

    def _content(self, location: tuple[int, int]) -> bytes | None:
        offset, size = location
        self._stream.seek(offset)
        content = self._stream.read(size)
        return content if len(content) == size else None

    def locate(self, name: str) -> tuple[int, int] | None:
        """The offset and size of a member's content; None if the archive has no such member."""
        while name not in self._locations:
            if not self._scan_member():
                return None
        return self._locations[name]

    def _locations_of(self, name: str) -> Iterator[tuple[int, int]]:
        first = self.locate(name)
        if first is None:
            return
        yield first
        while self._scan_member():
            pass
        yield from self._duplicates.get(name, ())

    def _scan_member(self) -> bool:
        """Scans the next member. Returns False if no well-formed member follows."""
        self._stream.seek(self._scanned_to)
        parsed = parse_header(self._stream.read(BLOCK))
        if parsed is None:
            return False
        size = parsed[1]
        # A member with wrong padding is malformed, so nothing after it can be read.
        self._stream.seek(size, os.SEEK_CUR)
        if self._stream.read(padding(size)) != bytes(padding(size)):
            return False
        name, location = parsed[0].decode("latin-1"), (self._scanned_to + BLOCK, size)
        if self._locations.setdefault(name, location) is not location:
            self._duplicates.setdefault(name, []).append(location)
        self._scanned_to += BLOCK + size + padding(size)
        return True
