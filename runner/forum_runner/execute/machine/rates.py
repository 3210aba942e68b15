"""Rate limits of adapters: requests and tokens per minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

_MINUTE_US = 60_000_000


class _Window:
    """The calls of the last minute, each with the tokens that it reserved or used."""

    __slots__ = ("calls", "max_requests", "max_tokens", "tokens_in_window")

    def __init__(self, limits: Mapping[str, int]) -> None:
        self.max_requests = limits.get("requests_per_minute")
        self.max_tokens = limits.get("tokens_per_minute")
        self.calls: deque[list[int]] = deque()
        self.tokens_in_window = 0

    def forget(self, now_us: int) -> None:
        while self.calls and self.calls[0][0] <= now_us - _MINUTE_US:
            self.tokens_in_window -= self.calls.popleft()[1]

    def free_at(self, now_us: int, tokens: int) -> int:
        """The earliest time for a call with this many tokens. A call above the limit waits for an empty window."""
        self.forget(now_us)
        free_us = now_us
        if self.max_requests is not None and len(self.calls) >= self.max_requests:
            free_us = self.calls[len(self.calls) - self.max_requests][0] + _MINUTE_US
        if self.max_tokens is not None:
            excess = self.tokens_in_window + tokens - self.max_tokens
            for began_us, call_tokens in self.calls:
                if excess <= 0:
                    break
                excess -= call_tokens
                free_us = max(free_us, began_us + _MINUTE_US)
        return free_us


class Rates:
    """The rate limits of all adapters. An adapter without limits is always free."""

    def __init__(self, limits: Mapping[str, Mapping[str, int]]) -> None:
        self._windows = {
            adapter: _Window(adapter_limits) for adapter, adapter_limits in limits.items() if adapter_limits
        }
        self.limits_anything = bool(self._windows)

    def free_at(self, adapter: str, now_us: int, tokens: int) -> int:
        window = self._windows.get(adapter)
        return now_us if window is None else window.free_at(now_us, tokens)

    def add(self, adapter: str, now_us: int, tokens: int) -> list[int] | None:
        """Counts a call and returns its slot in the window; None if the adapter has no limits.

        Pass the slot to `correct` when the usage of the call is known.
        """
        window = self._windows.get(adapter)
        if window is None:
            return None
        window.forget(now_us)
        slot = [now_us, tokens]
        window.calls.append(slot)
        window.tokens_in_window += tokens
        return slot

    def correct(self, adapter: str, slot: list[int], tokens: int) -> None:
        """Replaces the reserved tokens of a call with the tokens that it used, if the call is still in the window."""
        window = self._windows[adapter]
        if any(slot is known for known in window.calls):
            window.tokens_in_window += tokens - slot[1]
            slot[1] = tokens
