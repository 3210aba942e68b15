"""Rate limits of adapters: requests and tokens per minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

_MINUTE_US = 60_000_000


class _Window:
    """The calls of the last minute, each with the tokens that it reserved or used."""

    __slots__ = ("calls", "requests", "tokens", "tokens_in_window")

    def __init__(self, limits: Mapping[str, int]) -> None:
        self.requests = limits.get("requests_per_minute")
        self.tokens = limits.get("tokens_per_minute")
        self.calls: deque[list[int]] = deque()
        self.tokens_in_window = 0

    def forget(self, now_us: int) -> None:
        while self.calls and self.calls[0][0] <= now_us - _MINUTE_US:
            self.tokens_in_window -= self.calls.popleft()[1]

    def free_at(self, now_us: int, tokens: int) -> int:
        """The earliest time for a call with this many tokens. A call above the limit waits for an empty window."""
        self.forget(now_us)
        at = now_us
        if self.requests is not None and len(self.calls) >= self.requests:
            at = self.calls[len(self.calls) - self.requests][0] + _MINUTE_US
        if self.tokens is not None:
            excess = self.tokens_in_window + tokens - self.tokens
            for began_us, held in self.calls:
                if excess <= 0:
                    break
                excess -= held
                at = max(at, began_us + _MINUTE_US)
        return at


class Rates:
    def __init__(self, limits: Mapping[str, Mapping[str, int]]) -> None:
        self._windows = {adapter: _Window(own) for adapter, own in limits.items() if own}
        self.limits_anything = bool(self._windows)

    def free_at(self, adapter: str, now_us: int, tokens: int) -> int:
        window = self._windows.get(adapter)
        return now_us if window is None else window.free_at(now_us, tokens)

    def note(self, adapter: str, now_us: int, tokens: int) -> list[int] | None:
        """Counts a call. Pass the result to `correct` when the call's usage is known."""
        window = self._windows.get(adapter)
        if window is None:
            return None
        window.forget(now_us)
        call = [now_us, tokens]
        window.calls.append(call)
        window.tokens_in_window += tokens
        return call

    def correct(self, adapter: str, call: list[int], tokens: int) -> None:
        window = self._windows[adapter]
        if any(call is known for known in window.calls):
            window.tokens_in_window += tokens - call[1]
            call[1] = tokens
