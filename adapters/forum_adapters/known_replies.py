"""The base class of adapters that know their replies in advance and make no calls."""

from __future__ import annotations

import asyncio

from forum_adapters.base import Attempt, Reply


class KnownReplies:
    """Returns the reply of `predict` after its latency."""

    def predict(self, attempt: Attempt) -> tuple[Reply, int]:
        raise NotImplementedError

    async def answer(self, attempt: Attempt) -> Reply:
        reply, latency_ms = self.predict(attempt)
        if latency_ms:
            await asyncio.sleep(latency_ms / 1_000)
        return reply

    async def probe(self) -> str | None:
        return None

    async def close(self) -> None:
        return None
