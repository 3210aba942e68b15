"""One record of a source, as an entry of the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from forum_runner.canonical import MAX_INTEGER
from forum_runner.ledger.body import TEXT, Body
from forum_runner.ledger.clock import format_time

_MAX_FACT_LENGTH = 256
_MICRO = 1_000_000
# The last microsecond of the year 9999.
_MAX_TIME_US = 253_402_300_799_999_999


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """An entry to write for one record. `causes` are the numbers of earlier records of the same source."""

    kind: str
    data: Mapping[str, Any]
    bodies: Mapping[str, Body] = field(default_factory=dict)
    causes: tuple[int, ...] = ()


def facts(**values: Any) -> dict[str, Any]:
    """The values that `data` can contain: short non-empty texts, integers in range and booleans. Leaves others out."""
    return {name: value for name, value in values.items() if _is_fact(value)}


def _is_fact(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _MAX_FACT_LENGTH
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) <= MAX_INTEGER)


def texts(values: Mapping[str, Any]) -> dict[str, Body]:
    """A body for each non-empty text."""
    return {name: Body(value.encode(), TEXT) for name, value in values.items() if isinstance(value, str) and value}


def format_seconds(seconds: float) -> str | None:
    """Formats seconds since 1970 like the times in entries; None if out of range."""
    return format_microseconds(round(seconds * _MICRO)) if abs(seconds) < _MAX_TIME_US / _MICRO else None


def format_microseconds(moment_us: int) -> str | None:
    return format_time(moment_us) if 0 <= moment_us <= _MAX_TIME_US else None


def micro_usd(dollars: Any) -> int | None:
    """The amount in millionths of a dollar, or None if it is not a number or not a whole number of millionths."""
    if isinstance(dollars, bool) or not isinstance(dollars, int | float):
        return None
    amount = Decimal(str(dollars)) * _MICRO
    return int(amount) if amount == amount.to_integral_value() else None
