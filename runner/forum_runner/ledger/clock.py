"""Times of entries: microseconds since 1970, written in UTC."""

from __future__ import annotations

import calendar
import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]


def wall_clock() -> int:
    return time.time_ns() // 1_000


class TimeWriter:
    """Writes times that never go back, as entries ask for; what is the same within a second is written once."""

    __slots__ = ("_clock", "_latest", "_prefix", "_second")

    def __init__(self, clock: Clock | None, latest: bytes = b"") -> None:
        """Without a clock, by the system's. `latest` is the time of the entry before, as it stands there."""
        self._clock = clock
        self._latest = latest
        self._second = -1
        self._prefix = b""

    def now(self) -> bytes:
        second, micro = divmod(time.time_ns() // 1_000 if self._clock is None else self._clock(), 1_000_000)
        if second != self._second:
            self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
            # Last: an interrupt before it must not leave the earlier second's text in place for this one.
            self._second = second
        written = b"%b.%06dZ" % (self._prefix, micro)
        if written < self._latest:
            return self._latest
        self._latest = written
        return written


def written_time(moment_us: int) -> str:
    """A moment as entries write it."""
    second, micro = divmod(moment_us, 1_000_000)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{micro:06d}Z"


def read_time(text: str) -> int:
    """The microseconds of a time that an entry holds; a ValueError if there is no such day."""
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
    return calendar.timegm(moment.timetuple()) * 1_000_000 + moment.microsecond
