"""Call a server through an adapter, as the runner does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from msgspec import structs

from forum_adapters.anthropic import AnthropicAdapter
from forum_adapters.base import Adapter, Attempt, Limits, Prompt, Reply, Site
from forum_adapters.openai import OpenAIAdapter
from servers.formats import Format

T = TypeVar("T")

PROMPT = Prompt(system="Be brief.", text="Say hello.")
LIMITS = Limits(timeout_ms=120_000, max_output_bytes=100_000, max_tokens=64)
_TYPES = {Format.OPENAI: OpenAIAdapter, Format.ANTHROPIC: AnthropicAdapter}


def adapter_for(format_: Format, base_url: str, **settings: Any) -> Adapter:
    defaults = {
        "base_url": base_url,
        "model": "small",
        "max_tokens": 64,
        "stream": True,
        "structured_output": "json_schema",
        "timeout_ms": 120_000,
        "connect_timeout_ms": 60_000,
    }
    return _TYPES[format_]("test", {**defaults, **settings})


def attempt(prompt: Prompt = PROMPT, limits: Limits = LIMITS, hosts: tuple[str, ...] = ("127.0.0.1",)) -> Attempt:
    return Attempt("a1", "r1", "task", 1, "test", {}, prompt, limits, site=Site(hosts=hosts))


def limits(**changed: Any) -> Limits:
    return structs.replace(LIMITS, **changed)


def ask(adapter: Adapter, call: Attempt | None = None) -> Reply:
    return run_and_close(adapter, adapter.answer(call or attempt()))


def ask_at(format_: Format, base_url: str, call: Attempt | None = None, **settings: Any) -> Reply:
    return ask(adapter_for(format_, base_url, **settings), call)


def run_and_close(adapter: Adapter, work: Coroutine[Any, Any, T]) -> T:
    """Run the work and close the adapter, in one event loop."""

    async def run() -> T:
        try:
            return await work
        finally:
            await adapter.close()

    return asyncio.run(run())
