"""Call a server through an adapter, as the runner does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from forum_adapters.anthropic import AnthropicAdapter
from forum_adapters.base import Adapter, Attempt, Limits, Prompt, Reply, Site
from forum_adapters.openai import OpenAIAdapter
from servers.formats import Format

T = TypeVar("T")

PROMPT = Prompt(system="Be brief.", text="Say hello.")
LIMITS = Limits(timeout_ms=120_000, max_output_bytes=100_000, max_tokens=64)
_TYPES = {Format.OPENAI: OpenAIAdapter, Format.ANTHROPIC: AnthropicAdapter}


def adapter_for(format_: Format, base_url: str, **settings: Any) -> Adapter:
    stated = {
        "base_url": base_url,
        "model": "small",
        "max_tokens": 64,
        "stream": True,
        "structured_output": "json_schema",
        "timeout_ms": 120_000,
        "connect_timeout_ms": 60_000,
    }
    return _TYPES[format_]("test", {**stated, **settings})


def attempt(prompt: Prompt = PROMPT, limits: Limits = LIMITS, hosts: tuple[str, ...] = ("127.0.0.1",)) -> Attempt:
    return Attempt("a1", "r1", "task", 1, "test", {}, prompt, limits, site=Site(hosts=hosts))


def limits(**changed: Any) -> Limits:
    return LIMITS._replace(**changed)


def ask(adapter: Adapter, asked: Attempt | None = None) -> Reply:
    return ended(adapter, adapter.answer(asked or attempt()))


def ask_at(format_: Format, base_url: str, asked: Attempt | None = None, **settings: Any) -> Reply:
    return ask(adapter_for(format_, base_url, **settings), asked)


def ended(adapter: Adapter, work: Coroutine[Any, Any, T]) -> T:
    """Do the work and close the adapter, in one event loop."""

    async def do() -> T:
        try:
            return await work
        finally:
            await adapter.close()

    return asyncio.run(do())
