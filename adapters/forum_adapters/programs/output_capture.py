"""What is kept of a program's output: never more than was agreed, however much it writes."""

from __future__ import annotations


class FirstBytes:
    """The first `limit` bytes. `is_over` once there were more."""

    def __init__(self, limit: int) -> None:
        self.is_over = False
        self._limit = limit
        self._kept = bytearray()

    def feed(self, chunk: bytes) -> None:
        room = self._limit - len(self._kept)
        if len(chunk) > room:
            self.is_over = True
            chunk = chunk[:room]
        self._kept += chunk

    def content(self) -> bytes:
        return bytes(self._kept)


class FirstAndLastBytes:
    """The first and the last `each` bytes: the cause of a failure tends to stand in one of them."""

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
        # Cut at twice the size: cutting at every chunk would move the same bytes again and again.
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
