"""Reads single bodies from an archive: it is gone through once, as far as it is needed, and never held."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

from forum_runner.ledger.archive import BLOCK, PLAIN, SALT_BYTES, SALTED, commitment, padding, parse_header


class BodyReader:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._places: dict[str, tuple[int, int]] = {}
        # Only an archive that does not hold has two members of one name.
        self._further: dict[str, list[tuple[int, int]]] = {}
        self._reached = 0

    def read(self, reference: dict[str, Any]) -> bytes | None:
        """The bytes of a body that an entry names; None if they are not there, or not what the entry says.

        Of several members of one name, one that is right is enough.
        """
        digest, is_salted = reference["digest"], "salted" in reference
        size = reference["bytes"] + (SALT_BYTES if is_salted else 0)
        for place in self._places_of(f"{SALTED if is_salted else PLAIN}/{digest}"):
            # A header may claim any size: what is not the size that the entry gives is not read.
            content = self._content(place) if place[1] == size else None
            if content is None:
                continue
            found = commitment(content) if is_salted else hashlib.sha256(content).hexdigest()
            if found == digest:
                return content[SALT_BYTES:] if is_salted else content
        return None

    def content(self, name: str) -> bytes | None:
        """A member's content as it stands there, by the member's name."""
        place = self.place(name)
        return self._content(place) if place is not None else None

    def _content(self, place: tuple[int, int]) -> bytes | None:
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

    def _places_of(self, name: str) -> Iterator[tuple[int, int]]:
        first = self.place(name)
        if first is None:
            return
        yield first
        while self._go_on():
            pass
        yield from self._further.get(name, ())

    def _go_on(self) -> bool:
        self._stream.seek(self._reached)
        parsed = parse_header(self._stream.read(BLOCK))
        if parsed is None:
            return False
        size = parsed[1]
        # A member whose padding is not what it should be is not well-formed, and nothing after it can be read.
        self._stream.seek(size, os.SEEK_CUR)
        if self._stream.read(padding(size)) != bytes(padding(size)):
            return False
        name, place = parsed[0].decode("latin-1"), (self._reached + BLOCK, size)
        if self._places.setdefault(name, place) is not place:
            self._further.setdefault(name, []).append(place)
        self._reached += BLOCK + size + padding(size)
        return True
