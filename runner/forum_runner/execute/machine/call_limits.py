"""The limits of one call, from the settings of its adapter."""

from __future__ import annotations

from dataclasses import dataclass

from forum_runner.execute.machine.budgets import Ceiling
from forum_runner.wave_plan.wave_plan_reader import NO_PRICES, PlannedAdapter, TokenPrices

DEFAULT_TIMEOUT_MS = 600_000
_DEFAULT_MAX_TOKENS = 4_096
# A chat template adds its own tokens around the messages. Secrets count as their names: a reservation must not reveal
# their length.
_TEMPLATE_TOKENS = 256
# No tokenizer has longer tokens on average; the extra bytes are for short answers.
_BYTES_PER_TOKEN = 16
_EXTRA_BYTES = 1_024


@dataclass(frozen=True, slots=True)
class CallLimits:
    """With `counts_prompt`, the bytes of the prompt and `extra_tokens` count as input tokens."""

    timeout_ms: int
    max_output_bytes: int
    max_tokens: int = 0
    prices: TokenPrices = NO_PRICES
    is_program: bool = True
    counts_prompt: bool = False
    extra_tokens: int = 0

    def ceiling(self, prompt_bytes: int) -> Ceiling:
        """The ceiling of a call with a prompt of this size."""
        input_tokens = prompt_bytes + self.extra_tokens if self.counts_prompt else 0
        return Ceiling(input_tokens, self.max_tokens, self.max_output_bytes, self.timeout_ms, self.prices)


def model_limits(adapter: PlannedAdapter, timeout_ms: int) -> CallLimits:
    max_tokens = adapter.max_tokens or _DEFAULT_MAX_TOKENS
    max_bytes = _BYTES_PER_TOKEN * max_tokens + _EXTRA_BYTES
    return CallLimits(timeout_ms, max_bytes, max_tokens, adapter.prices, False, True, _TEMPLATE_TOKENS)
