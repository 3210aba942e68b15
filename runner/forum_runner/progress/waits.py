"""Times in which a run has nothing to do but to wait: how long they are, and which of them a log tells."""

from __future__ import annotations

from forum_runner.report.amounts import shown, span

# Shorter waits come and go with every rate limit, and would bury what a reader looks for.
_MIN_WAIT_MS = 1_000


def wait_ms(until_us: int, now_us: int) -> int:
    """Rounded up to a tenth of a second: a moment passes before a wait is told."""
    return max(0, -((now_us - until_us) // 100_000) * 100)


def wait_words(milliseconds: int, why: str) -> str:
    """`waits 4.0s: retry of draft`."""
    return f"waits {span(milliseconds)}: {shown(why)}"


class Waits:
    """Those of a log: each once, and no short one."""

    def __init__(self) -> None:
        self._told: tuple[int, str] | None = None

    def are_worth_telling(self, until_us: int, why: str, now_us: int) -> bool:
        if self._told == (until_us, why) or wait_ms(until_us, now_us) < _MIN_WAIT_MS:
            return False
        self._told = (until_us, why)
        return True
