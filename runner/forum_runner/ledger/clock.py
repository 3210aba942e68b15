"""Times of entries: microseconds since 1970, written in UTC."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z")
_MILLION = 1_000_000
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def wall_clock() -> int:
    return time.time_ns() // 1_000


class TimeWriter:
    """Writes times that never go back, as entries ask for; what is the same within a second is written once."""

    __slots__ = ("_clock", "_latest", "_moment", "_prefix", "_second")

    def __init__(self, clock: Clock | None, latest: str = "") -> None:
        """Without a clock, by the system's. `latest` is the time of the entry before, as it stands there."""
        self._clock = clock
        self._latest = latest
        # When the second began whose text the prefix is.
        self._second = -_MILLION
        self._moment = -1
        self._prefix = ""

    def now(self) -> str:
        moment = time.time_ns() // 1_000 if self._clock is None else self._clock()
        if moment == self._moment:
            return self._latest
        micro = moment - self._second
        if not 0 <= micro < _MILLION:
            micro = self._begin_second(moment)
        written = f"{self._prefix}.{str(_MILLION + micro)[1:]}Z"
        if written < self._latest:
            return self._latest
        self._latest = written
        self._moment = moment
        return written

    def _begin_second(self, moment: int) -> int:
        """How far the moment is into its second."""
        second, micro = divmod(moment, _MILLION)
        self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        # Last: an interrupt before it must not leave the earlier second's text in place for this one.
        self._second = second * _MILLION
        return micro


def written_time(moment_us: int) -> str:
    """A moment as entries write it."""
    second, micro = divmod(moment_us, 1_000_000)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{micro:06d}Z"


def read_time(text: str) -> int:
    """The microseconds of a time that an entry holds; a ValueError if there is no such day."""
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text!r} is no time of an entry")
    span = datetime.fromisoformat(text) - _BEGINNING
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
