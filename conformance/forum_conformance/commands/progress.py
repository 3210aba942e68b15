"""Progress of the suite: a status line on a terminal; elsewhere, each failure as it happens."""

import os
from collections.abc import Collection
from typing import TextIO

from forum_conformance.commands.console import write
from forum_conformance.results.printable import printable
from forum_conformance.suite.result import Tried

_WIDTH = 79


class Progress:
    """Receives each vector after it was run.

    `forgiven` are the ids that are expected to fail; `results` is the stream that receives the results.
    """

    def __init__(
        self, stream: TextIO, how: str, *, total: int, forgiven: Collection[str], results: TextIO | None = None
    ) -> None:
        self._stream = stream
        is_terminal = how == "tty" or (how == "auto" and stream.isatty())
        self._rewrites = is_terminal
        self._is_silent = how == "none"
        # If the results go to the same stream, they include each failure in full.
        self._prints_failures = how != "auto" or results is None or not _is_same(stream, results)
        self._total = total
        self._forgiven = forgiven
        self._done = 0
        self._failed = 0

    def report(self, tried: Tried) -> None:
        self._done += 1
        is_failure = self._is_failure(tried)
        self._failed += is_failure
        if self._is_silent:
            return
        if is_failure and self._prints_failures:
            first = tried.differences[0]
            text = f"failed {tried.case.id}: {first.place}: expected {first.expected}, came {first.came}"
            self._write(f"{self._clear()}{_cut(printable(text), 200)}\n")
        if self._rewrites:
            failed = f", {self._failed} failed" if self._failed else ""
            self._write(self._clear() + _cut(f"{self._done} of {self._total}{failed}: {tried.case.id}", _WIDTH))

    def end(self) -> None:
        if self._rewrites:
            self._write(self._clear())

    def _is_failure(self, tried: Tried) -> bool:
        reply = tried.reply
        # Whether a role is offered is known only after all its vectors were asked.
        is_certain = reply is not None and not reply.is_unsupported and not reply.is_not_offered
        return is_certain and bool(tried.differences) and tried.case.id not in self._forgiven

    def _clear(self) -> str:
        return "\r\x1b[K" if self._rewrites else ""

    def _write(self, text: str) -> None:
        write(self._stream, text)
        self._stream.flush()


def _is_same(one: TextIO, other: TextIO) -> bool:
    try:
        return os.path.sameopenfile(one.fileno(), other.fileno())
    except (OSError, ValueError):
        return False


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
