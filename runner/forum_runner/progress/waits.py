"""Waits: times in which a run has nothing to do. A log mentions only the long ones."""

from __future__ import annotations

from forum_runner.report.amounts import clip, duration

# Rate limits cause shorter waits all the time: they would bury the rest of a log.
_MIN_WAIT_MS = 1_000


def wait_ms(until_us: int, now_us: int) -> int:
    """Rounded up to a tenth of a second, because a moment passes before a wait is reported."""
    return max(0, -((now_us - until_us) // 100_000) * 100)


def wait_text(milliseconds: int, why: str) -> str:
    """`waiting 4.0s: retry of draft`."""
    return f"waiting {duration(milliseconds)}: {clip(why)}"


class Waits:
    """Reports each wait once, and no short ones."""

    def __init__(self) -> None:
        self._reported: tuple[int, str] | None = None

    def is_reported(self, until_us: int, why: str, now_us: int) -> bool:
        if self._reported == (until_us, why) or wait_ms(until_us, now_us) < _MIN_WAIT_MS:
            return False
        self._reported = (until_us, why)
        return True
