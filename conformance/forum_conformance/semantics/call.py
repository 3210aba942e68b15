"""An open call: it reserves part of the budgets and counts towards the concurrency limit."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class Call:
    """An open attempt, or an open check by a command or an agent (`check` is its number)."""

    seq: int
    task: str
    attempt: int
    check: int | None
    by: str
    agent: str | None
    reserved: Mapping[str, int]
    is_orphan: bool = False
