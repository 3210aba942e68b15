"""The time of a run between its entries, and its waits: times in which it has nothing to do."""

from __future__ import annotations

import time
from collections.abc import Callable

from forum_runner.report.amounts import clip, duration

# Rate limits cause shorter waits all the time: they would bury the rest of a log.
_MIN_WAIT_MS = 1_000


class EntryClock:
    """The time of the last entry plus what has passed since: the run itself may use a virtual clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Counts from 0 until the first entry."""
        self._reported: tuple[int, str] | None = None
        self.set(0)

    def set(self, at_us: int) -> None:
        self._at_us = at_us
        self._set_s = self._clock()

    def now_us(self) -> int:
        return self._at_us + int((self._clock() - self._set_s) * 1_000_000)

    def wait_ms(self, until_us: int) -> int:
        """Rounded up to a tenth of a second, because a moment passes before a wait is reported."""
        return max(0, -((self.now_us() - until_us) // 100_000) * 100)

    def long_wait_ms(self, until_us: int, why: str) -> int | None:
        """None if the wait is short, or was reported before."""
        wait_ms = self.wait_ms(until_us)
        if self._reported == (until_us, why) or wait_ms < _MIN_WAIT_MS:
            return None
        self._reported = (until_us, why)
        return wait_ms


def wait_text(milliseconds: int, why: str) -> str:
    """`waiting 4.0s: retry of draft`."""
    return f"waiting {duration(milliseconds)}: {clip(why)}"
