"""One vector in memory: the content of `case.json`, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Vector:
    """`request` and `expected` name files relative to the vector's folder."""

    id: str
    """Area and name: `ledger/truncated`."""
    title: str
    """One sentence: the situation, and the reason for the expected answer."""
    role: str
    requirements: tuple[str, ...]
    request: Mapping[str, Any]
    expected: Mapping[str, Any]
    verified_by: str
    """How the expectation was made sure of, by something else than the program that made it."""
    level: int | None = None
    """Of `verify`: the level that the vector is about."""
    derived_from: str | None = None
    """The id of the positive vector that a negative one is a mutation of."""
    mutation: str | None = None
    """The single change to it."""
    files: Mapping[str, bytes] = field(default_factory=dict)
