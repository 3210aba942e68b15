"""One vector in memory: the content of `case.json`, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Vector:
    """One vector. `request` and `expected` name files relative to the vector's directory."""

    id: str
    """Area and name: `ledger/truncated`."""
    title: str
    """One sentence: the situation, and the reason for the expected answer."""
    role: str
    requirements: tuple[str, ...]
    request: Mapping[str, Any]
    expected: Mapping[str, Any]
    verified_by: str
    """How the expectation was verified independently of the program that produced it."""
    level: int | None = None
    """For the role `verify`: the level that the vector tests."""
    derived_from: str | None = None
    """For a negative vector: the id of the positive vector that was mutated."""
    mutation: str | None = None
    """The one change to that vector."""
    files: Mapping[str, bytes] = field(default_factory=dict)
