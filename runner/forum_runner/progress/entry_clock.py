"""The time of a run between its entries."""

from __future__ import annotations

import time
from collections.abc import Callable


class EntryClock:
    """The time of the last entry plus what has passed since: the run itself may use a virtual clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds. Before the first entry the time counts from 0."""
        self._clock = clock
        self.set(0)

    def set(self, at_us: int) -> None:
        self._at_us = at_us
        self._set_s = self._clock()

    def now_us(self) -> int:
        return self._at_us + int((self._clock() - self._set_s) * 1_000_000)
