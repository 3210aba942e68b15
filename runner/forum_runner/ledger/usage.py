"""What calls took, added up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from forum_runner.ledger.read_entry import amount


@dataclass(slots=True)
class Usage:
    calls: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0
    output_bytes: int = 0
    wall_ms: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def charge(self, usage: Mapping[str, Any]) -> None:
        """Adds what an entry says that a call took, or had reserved. Calls are counted where they begin."""
        self.input_tokens += amount(usage, "input_tokens")
        self.cached_input_tokens += amount(usage, "cached_input_tokens")
        self.output_tokens += amount(usage, "output_tokens")
        self.micro_usd += amount(usage, "micro_usd")
        self.output_bytes += amount(usage, "output_bytes")
        self.wall_ms += amount(usage, "wall_ms")

    def add(self, other: Usage) -> None:
        for item, more in zip(fields(self), astuple(other), strict=True):
            setattr(self, item.name, getattr(self, item.name) + more)
