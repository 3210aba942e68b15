"""What time it is in a run between its entries."""

from __future__ import annotations

import time
from collections.abc import Callable


class RunTime:
    """The time of the last entry, and what has passed since: the run's own clock may be a virtual one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """The clock tells seconds. Before the first entry the time counts from 0."""
        self._clock = clock
        self.set(0)

    def set(self, at_us: int) -> None:
        self._at_us = at_us
        self._set_s = self._clock()

    def now_us(self) -> int:
        return self._at_us + int((self._clock() - self._set_s) * 1_000_000)
