"""How long to wait before a retry."""

from __future__ import annotations

from hashlib import sha256

from forum_runner.wave_plan.planned_task import RetryRule

# More would only exceed the limit.
_MAX_DOUBLINGS = 40
_JITTER_STEPS = 1_000


def backoff_ms(retry: RetryRule, tries: int, run: str, unit: str) -> int:
    """The wait before the next try. It doubles with every try, up to a limit, and is then shortened by up to half.

    This spreads the retries of units that failed together. The fraction depends only on the run, the unit and the
    number of tries, so a run can be replayed.
    """
    longest_ms = min(retry.backoff_ms << min(tries - 1, _MAX_DOUBLINGS), retry.max_backoff_ms)
    jitter = int.from_bytes(sha256(f"{run}/{unit}/{tries}".encode()).digest()[:4]) % (_JITTER_STEPS + 1)
    return longest_ms - longest_ms * jitter // (2 * _JITTER_STEPS)
