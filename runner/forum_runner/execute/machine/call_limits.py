"""What one call of an adapter may take, by the adapter's settings alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forum_runner.execute.machine.budgets import NO_PRICES, Ceiling, Prices, prices_in
from forum_runner.execute.machine.tuples import made

DEFAULT_TIMEOUT_MS = 600_000
DEFAULT_MAX_TOKENS = 4_096
DEFAULT_OUTPUT_BYTES = 10_000_000
CHECK_OUTPUT_BYTES = 1_000_000
# A chat template adds marks of its own around the messages, and secrets are counted by their names alone: what is
# reserved must not tell how long they are.
_TEMPLATE_TOKENS = 256
# No tokenizer makes tokens that are longer on average; the rest is for short answers.
_BYTES_PER_TOKEN = 16
_BYTES_BESIDE = 1_024


@dataclass(frozen=True, slots=True)
class Terms:
    """`counts_prompt`: its prompt counts as tokens, and `tokens_beside` are added to them."""

    timeout_ms: int
    max_output_bytes: int
    max_tokens: int = 0
    prices: Prices = NO_PRICES
    is_program: bool = True
    counts_prompt: bool = False
    tokens_beside: int = 0

    def most(self, prompt_bytes: int) -> Ceiling:
        """Of a call with a prompt of so many bytes."""
        input_tokens = prompt_bytes + self.tokens_beside if self.counts_prompt else 0
        fields = (input_tokens, self.max_tokens, self.max_output_bytes, self.timeout_ms, self.prices, None, None)
        return made(Ceiling, fields)


# A check that a command makes: it has no adapter.
OF_A_CHECK = Terms(DEFAULT_TIMEOUT_MS, CHECK_OUTPUT_BYTES)


def terms_of(settings: Mapping[str, Any]) -> Terms:
    timeout_ms = int(settings.get("timeout_ms", DEFAULT_TIMEOUT_MS))
    prices = prices_in(settings.get("prices"))
    if settings["type"] == "command":
        max_bytes = settings.get("max_output_bytes", DEFAULT_OUTPUT_BYTES)
        if prices is NO_PRICES:
            return Terms(timeout_ms, max_bytes)
        # A model's own command line does not say what it took; a token has at least one byte.
        return Terms(timeout_ms, max_bytes, max_bytes, prices, counts_prompt=True)
    max_tokens = settings.get("max_tokens", DEFAULT_MAX_TOKENS)
    max_bytes = _BYTES_PER_TOKEN * max_tokens + _BYTES_BESIDE
    return Terms(timeout_ms, max_bytes, max_tokens, prices, False, True, _TEMPLATE_TOKENS)
