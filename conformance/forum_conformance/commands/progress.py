"""Progress of the suite: a status line on a terminal; elsewhere, each failure as it happens."""

import os
from collections.abc import Collection
from typing import TextIO

from forum_conformance.commands.console import write
from forum_conformance.results.printable import printable
from forum_conformance.suite.result import VectorOutcome

_STATUS_WIDTH = 79
_MAX_FAILURE_LENGTH = 200


class Progress:
    """Prints progress. Receives the outcome of each vector.

    `mode` is the value of `--progress`, and `results` the stream that receives the results. The `expected_failures` are
    ids that do not count as failures.
    """

    def __init__(
        self,
        stream: TextIO,
        mode: str,
        *,
        total: int,
        expected_failures: Collection[str],
        results: TextIO | None = None,
    ) -> None:
        self._stream = stream
        self._has_status_line = mode == "tty" or (mode == "auto" and stream.isatty())
        self._is_silent = mode == "none"
        # If the results go to the same stream, they include each failure in full.
        self._prints_failures = mode != "auto" or results is None or not _is_same(stream, results)
        self._total = total
        self._expected_failures = expected_failures
        self._finished = 0
        self._failed = 0

    def report(self, outcome: VectorOutcome) -> None:
        self._finished += 1
        is_failure = self._is_failure(outcome)
        self._failed += is_failure
        if self._is_silent:
            return
        if is_failure and self._prints_failures:
            first = outcome.differences[0]
            text = f"failed {outcome.case.id}: {first.place}: expected {first.expected}, got {first.actual}"
            self._write(f"{self._clear()}{_truncate(printable(text), _MAX_FAILURE_LENGTH)}\n")
        if self._has_status_line:
            failed = f", {self._failed} failed" if self._failed else ""
            self._write(
                self._clear()
                + _truncate(f"{self._finished} of {self._total}{failed}: {outcome.case.id}", _STATUS_WIDTH)
            )

    def end(self) -> None:
        if self._has_status_line:
            self._write(self._clear())

    def _is_failure(self, outcome: VectorOutcome) -> bool:
        reply = outcome.reply
        # Whether a role is offered is known only after all its vectors were run.
        is_offered = reply is not None and not reply.is_unsupported and not reply.is_not_offered
        return is_offered and bool(outcome.differences) and outcome.case.id not in self._expected_failures

    def _clear(self) -> str:
        return "\r\x1b[K" if self._has_status_line else ""

    def _write(self, text: str) -> None:
        write(self._stream, text)
        self._stream.flush()


def _is_same(first: TextIO, second: TextIO) -> bool:
    try:
        return os.path.sameopenfile(first.fileno(), second.fileno())
    except (OSError, ValueError):
        return False


def _truncate(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
