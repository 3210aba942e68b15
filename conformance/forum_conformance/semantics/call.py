"""A call that is not over: it reserves what it may use, and takes one of the places that run side by side."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class Call:
    """An attempt, or a check by a command or an agent (`check` is its number), that is not over."""

    seq: int
    task: str
    attempt: int
    check: int | None
    by: str
    agent: str | None
    reserved: Mapping[str, int]
    is_orphan: bool = False
