"""A stream that may fail during a run: a closed pipe, a full disk, a terminal that hung up."""

from __future__ import annotations

import os
from typing import TextIO


class Outlet:
    """Writes immediately. Stops after a failed write: a run must not end because nobody reads its progress."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_silent = False

    @property
    def encoding(self) -> str:
        return self._stream.encoding or "utf-8"

    def write(self, text: str) -> int:
        if not self._is_silent:
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # a stream that was closed here raises ValueError
                self._is_silent = True
                self._discard()
        return len(text)

    def flush(self) -> None:
        """Does nothing, because nothing is buffered."""

    def isatty(self) -> bool:
        return not self._is_silent and self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def _discard(self) -> None:
        """Discards the stream's buffer: otherwise the interpreter fails to flush it and exits with 120."""
        try:
            devnull = os.open(os.devnull, os.O_WRONLY)
        except OSError:
            return
        try:
            os.dup2(devnull, self._stream.fileno())
        except (OSError, ValueError):
            pass  # a stream without a descriptor, or closed: nothing will be flushed
        finally:
            os.close(devnull)
