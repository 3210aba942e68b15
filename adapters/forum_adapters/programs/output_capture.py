"""Captures the output of a program up to a limit."""

from __future__ import annotations

import os
from io import BytesIO

_LARGE_BYTES = 1 << 20


class FirstBytes:
    """The first `limit` bytes. `is_over` is set once there are more."""

    def __init__(self, limit: int) -> None:
        self.is_over = False
        self._room = limit
        # Unlike a bytearray, it returns its content without a copy.
        self._kept = BytesIO()

    def feed(self, chunk: bytes) -> None:
        if len(chunk) > self._room:
            self.is_over = True
            chunk = chunk[: self._room]
        self._room -= len(chunk)
        self._kept.write(chunk)

    def content(self) -> bytes:
        """The captured bytes. A large output loses its last line end here, so that the runner need not copy it."""
        if self._kept.tell() > _LARGE_BYTES:
            self._drop_line_end()
        return self._kept.getvalue()

    def _drop_line_end(self) -> None:
        start = self._kept.seek(-3, os.SEEK_END)
        end = self._kept.read()
        kept = end[:-2] if end.endswith(b"\r\n") else end.removesuffix(b"\n")
        # If there are two line ends, the runner would remove the other one as well.
        if not kept.endswith(b"\n"):
            self._kept.truncate(start + len(kept))


class FirstAndLastBytes:
    """The first and the last `each` bytes, which usually contain the cause of a failure."""

    is_over = False

    def __init__(self, each: int) -> None:
        self._each = each
        self._first = bytearray()
        self._last = bytearray()
        self._left_out = 0

    def feed(self, chunk: bytes) -> None:
        room = self._each - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[room:]
        # Cut only at twice the size: cutting at every chunk would move the same bytes repeatedly.
        if len(self._last) > 2 * self._each:
            self._cut()

    def content(self) -> bytes:
        self._cut()
        if not self._left_out:
            return bytes(self._first + self._last)
        line_end = b"" if self._first.endswith(b"\n") else b"\n"
        return bytes(self._first) + line_end + b"[%d bytes left out]\n" % self._left_out + self._last

    def _cut(self) -> None:
        excess = len(self._last) - self._each
        if excess > 0:
            self._left_out += excess
            del self._last[:excess]
