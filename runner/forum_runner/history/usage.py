"""The total usage of several calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.ledger.read_entry import get_amount


@dataclass(slots=True)
class UsageTotals:
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
        """Adds the usage or the reservation of a call, as an entry records it. Calls are counted when they start."""
        self.input_tokens += get_amount(usage, "input_tokens")
        self.cached_input_tokens += get_amount(usage, "cached_input_tokens")
        self.output_tokens += get_amount(usage, "output_tokens")
        self.micro_usd += get_amount(usage, "micro_usd")
        self.output_bytes += get_amount(usage, "output_bytes")
        self.wall_ms += get_amount(usage, "wall_ms")
