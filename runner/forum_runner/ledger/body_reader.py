"""Reads single bodies from an archive: it is gone through once, as far as it is needed, and never held."""

from __future__ import annotations

import hashlib
import os
from typing import Any, BinaryIO

from forum_runner.ledger.archive import BLOCK, PLAIN, SALT_BYTES, SALTED, commitment, padding, parse_header


class BodyReader:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._places: dict[str, tuple[int, int]] = {}
        self._reached = 0

    def read(self, reference: dict[str, Any]) -> bytes | None:
        """The bytes of a body that an entry names; None if they are not there, or not what the entry says."""
        digest, is_salted = reference["digest"], "salted" in reference
        name = f"{SALTED if is_salted else PLAIN}/{digest}"
        place = self.place(name)
        # A header may claim any size: what is not the size that the entry gives is not read.
        if place is None or place[1] != reference["bytes"] + (SALT_BYTES if is_salted else 0):
            return None
        content = self.content(name)
        if content is None:
            return None
        found = commitment(content) if is_salted else hashlib.sha256(content).hexdigest()
        body = content[SALT_BYTES:] if is_salted else content
        return body if found == digest else None

    def content(self, name: str) -> bytes | None:
        """A member's content as it stands there, by the member's name."""
        place = self.place(name)
        if place is None:
            return None
        offset, size = place
        self._stream.seek(offset)
        content = self._stream.read(size)
        return content if len(content) == size else None

    def place(self, name: str) -> tuple[int, int] | None:
        """Where a member's content begins, and how many bytes it has."""
        while name not in self._places:
            if not self._go_on():
                return None
        return self._places[name]

    def _go_on(self) -> bool:
        self._stream.seek(self._reached)
        parsed = parse_header(self._stream.read(BLOCK))
        if parsed is None:
            return False
        name, size = parsed
        # A member whose padding is not what it should be is not well-formed, and nothing after it can be read.
        self._stream.seek(size, os.SEEK_CUR)
        if self._stream.read(padding(size)) != bytes(padding(size)):
            return False
        self._places.setdefault(name.decode("latin-1"), (self._reached + BLOCK, size))
        self._reached += BLOCK + size + padding(size)
        return True
