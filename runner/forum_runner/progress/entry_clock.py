"""The current time of a run between two entries, and how long the run waits."""

from __future__ import annotations

import time
from collections.abc import Callable

from forum_runner.report.amounts import clip, duration

# Rate limits cause many shorter waits, which would bury the rest of a log.
_MIN_WAIT_MS = 1_000


class EntryClock:
    """The time of the last entry plus the real time since then. The run itself may use a virtual clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Prepares for the next run. The time starts at 0, and the run's first entry sets it."""
        self._last_reported: tuple[int, str] | None = None
        self.set(0)

    def set(self, at_us: int) -> None:
        self._at_us = at_us
        self._set_at_s = self._clock()

    def now_us(self) -> int:
        return self._at_us + int((self._clock() - self._set_at_s) * 1_000_000)

    def wait_ms(self, until_us: int) -> int:
        """The time until then, rounded up to a tenth of a second, because a moment has passed since the wait began."""
        return max(0, -((self.now_us() - until_us) // 100_000) * 100)

    def long_wait_ms(self, until_us: int, reason: str) -> int | None:
        """The length of a wait to report; None if the wait is short, or was reported already."""
        wait_ms = self.wait_ms(until_us)
        if self._last_reported == (until_us, reason) or wait_ms < _MIN_WAIT_MS:
            return None
        self._last_reported = (until_us, reason)
        return wait_ms


def wait_text(milliseconds: int, reason: str) -> str:
    """Describes a wait: `waiting 4.0s: retry of draft`."""
    return f"waiting {duration(milliseconds)}: {clip(reason)}"
