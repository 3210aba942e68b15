"""How long to wait before a retry."""

from __future__ import annotations

from hashlib import sha256

from forum_runner.wave_plan.planned_task import RetryRule

_PARTS = 1_000


def backoff_ms(retry: RetryRule, tries: int, run: str, unit: str) -> int:
    """Doubles with every try, up to a limit, and is then shortened by up to half.

    This spreads the retries of units that failed together. The fraction depends only on the run, the unit and the
    number of tries, so a run can be replayed.
    """
    longest = min(retry.backoff_ms << min(tries - 1, 40), retry.max_backoff_ms)
    drawn = int.from_bytes(sha256(f"{run}/{unit}/{tries}".encode()).digest()[:4]) % (_PARTS + 1)
    return longest - longest * drawn // (2 * _PARTS)
