"""Amounts, durations, times and digests of a ledger, formatted for people."""

from __future__ import annotations

from forum_runner.finding import visible

_SHORT_DIGEST = 12
_MAX_TEXT = 160


def clip(text: str, limit: int = _MAX_TEXT) -> str:
    """Truncates text from a ledger and makes it safe to print on a terminal."""
    return visible(text if len(text) <= limit else f"{text[: limit - 3]}...")


def money(micro_usd: int) -> str:
    """Dollars with four decimals, or with six if the last two are not zero."""
    dollars, rest = divmod(micro_usd, 1_000_000)
    digits = f"{rest:06d}"
    return f"${dollars:,}.{digits[:4] if digits.endswith('00') else digits}"


def duration(milliseconds: int) -> str:
    if milliseconds < 1_000:
        return f"{milliseconds}ms"
    if milliseconds < 60_000:
        return f"{milliseconds // 100 / 10}s"
    seconds = milliseconds // 1_000
    if seconds < 3_600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    return f"{seconds // 3_600:,}h{seconds // 60 % 60:02d}m"


def short_digest(digest: str) -> str:
    return clip(digest)[:_SHORT_DIGEST]


def time_text(at: str) -> str:
    """A time to the millisecond. Text that is not the time of an entry is only clipped."""
    return f"{at[:10]} {at[11:23]}Z" if len(at) == 27 and at.isascii() and at.isprintable() else clip(at, 27)
