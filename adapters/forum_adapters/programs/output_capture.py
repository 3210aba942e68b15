"""Captures the output of a program up to a limit."""

from __future__ import annotations

import os
from io import BytesIO

_LARGE_BYTES = 1 << 20


class FirstBytes:
    """Keeps the first `limit` bytes. `is_exceeded` is set once there are more."""

    def __init__(self, limit: int) -> None:
        self.is_exceeded = False
        self._room = limit
        # Unlike a bytearray, BytesIO returns its content without a copy.
        self._buffer = BytesIO()

    def feed(self, chunk: bytes) -> None:
        if len(chunk) > self._room:
            self.is_exceeded = True
            chunk = chunk[: self._room]
        self._room -= len(chunk)
        self._buffer.write(chunk)

    def content(self) -> bytes:
        """The captured bytes. A large output loses its trailing newline here, so that the runner need not copy it."""
        if self._buffer.tell() > _LARGE_BYTES:
            self._drop_newline()
        return self._buffer.getvalue()

    def _drop_newline(self) -> None:
        start = self._buffer.seek(-3, os.SEEK_END)
        end = self._buffer.read()
        stripped = end[:-2] if end.endswith(b"\r\n") else end.removesuffix(b"\n")
        # After two newlines, the runner would remove the other one as well.
        if not stripped.endswith(b"\n"):
            self._buffer.truncate(start + len(stripped))


class FirstAndLastBytes:
    """Keeps the first and the last `size` bytes, which usually contain the cause of a failure."""

    is_exceeded = False

    def __init__(self, size: int) -> None:
        self._size = size
        self._first = bytearray()
        self._last = bytearray()
        self._omitted = 0

    def feed(self, chunk: bytes) -> None:
        room = self._size - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[room:]
        # Trim only at twice the size. Trimming after every chunk would move the same bytes repeatedly.
        if len(self._last) > 2 * self._size:
            self._trim()

    def content(self) -> bytes:
        self._trim()
        if not self._omitted:
            return bytes(self._first + self._last)
        newline = b"" if self._first.endswith(b"\n") else b"\n"
        return bytes(self._first) + newline + b"[%d bytes left out]\n" % self._omitted + self._last

    def _trim(self) -> None:
        excess = len(self._last) - self._size
        if excess > 0:
            self._omitted += excess
            del self._last[:excess]
