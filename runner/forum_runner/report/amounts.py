"""Amounts, spans of time and digests of a ledger, as a person reads them."""

from __future__ import annotations

from forum_runner.finding import visible
from forum_runner.ledger.clock import read_time

_SHORT_DIGEST = 12
_MAX_TEXT = 160


def shown(text: str, limit: int = _MAX_TEXT) -> str:
    """Text from a ledger: nothing in it steers a terminal, and it has an end."""
    return visible(text if len(text) <= limit else f"{text[: limit - 3]}...")


def money(micro_usd: int) -> str:
    """Four digits after the point, more where they would be lost."""
    dollars, rest = divmod(micro_usd, 1_000_000)
    digits = f"{rest:06d}"
    return f"${dollars:,}.{digits[:4] if digits.endswith('00') else digits}"


def span(milliseconds: int) -> str:
    if milliseconds < 1_000:
        return f"{milliseconds}ms"
    if milliseconds < 60_000:
        return f"{milliseconds // 100 / 10}s"
    seconds = milliseconds // 1_000
    if seconds < 3_600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    return f"{seconds // 3_600:,}h{seconds // 60 % 60:02d}m"


def short(digest: str) -> str:
    return shown(digest)[:_SHORT_DIGEST]


def moment(at: str) -> str:
    """To the millisecond; a time that is not written as entries write it stays as it is."""
    return f"{at[:10]} {at[11:23]}Z" if len(at) == 27 and at.isascii() and at.isprintable() else shown(at, 27)


def between(first: str, last: str) -> int | None:
    """The milliseconds from one time of a ledger to another; None where one of them is no time."""
    try:
        return max(0, read_time(last) - read_time(first)) // 1_000
    except ValueError:
        return None
