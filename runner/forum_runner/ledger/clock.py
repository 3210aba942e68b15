"""Times of entries: microseconds since 1970, written in UTC."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]


def wall_clock() -> int:
    return time.time_ns() // 1_000


class TimeWriter:
    """Writes times that never go back, as entries ask for; what is the same within a second is written once."""

    __slots__ = ("_clock", "_latest", "_prefix", "_second")

    def __init__(self, clock: Clock | None, latest: int = 0) -> None:
        """Without a clock, by the system's."""
        self._clock = clock
        self._latest = latest
        self._second = -1
        self._prefix = b""

    def now(self) -> bytes:
        now = time.time_ns() // 1_000 if self._clock is None else self._clock()
        if now > self._latest:
            self._latest = now
        second, micro = divmod(self._latest, 1_000_000)
        if second != self._second:
            self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
            # Last: an interrupt before it must not leave the earlier second's text in place for this one.
            self._second = second
        return b"%b.%06dZ" % (self._prefix, micro)


def read_time(text: str) -> int:
    """The microseconds of a time that an entry holds."""
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000_000)
