"""The clock of a ledger, in microseconds since 1970, and the timestamps of entries, in UTC."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from forum_runner.errors import UsageError

Clock = Callable[[], int]
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z")


def wall_clock() -> int:
    return time.time_ns() // 1_000


def format_time(moment_us: int) -> str:
    """The timestamp for a time in microseconds, in the form of an entry's `at`. Raises a UsageError after 9999."""
    second, micro = divmod(moment_us, 1_000_000)
    return f"{_date_and_time(second)}.{micro:06d}Z"


@lru_cache(maxsize=16)
def _date_and_time(second: int) -> str:
    try:
        return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"
    except (ValueError, OverflowError) as error:
        reason = "a ledger cannot record times after the year 9999"
        raise UsageError(f"{reason}; shorten the deadlines, backoffs and latencies of the workflow") from error


def parse_time(text: str) -> int:
    """The microseconds of a timestamp. Raises a ValueError if it is malformed or the date does not exist."""
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text!r} is not a time in the form of an entry's `at`")
    return _second(text[:19]) * 1_000_000 + int(text[20:26])


@lru_cache(maxsize=16)
def _second(date_and_time: str) -> int:
    return int(datetime.fromisoformat(f"{date_and_time}Z").timestamp())
