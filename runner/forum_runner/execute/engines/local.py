"""The engine `local`: adapters run in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from forum_adapters.base import Adapter, Attempt, Predictable, Reply
from forum_adapters.registry import make_adapter
from forum_runner.execute.call_report import Replied
from forum_runner.execute.engines.coroutine_engine import CANCELLED, CoroutineEngine, failure_reply

MakeAdapter = Callable[[str, Mapping[str, Any]], Adapter]
# How long all adapters together may take to close. Adapters of programs wait until their processes have ended.
_CLOSE_PATIENCE_S = 10.0


class LocalEngine(CoroutineEngine):
    def __init__(self, make: MakeAdapter = make_adapter) -> None:
        super().__init__()
        self._make = make
        self._adapters: dict[str, Adapter] = {}
        self._predictable: dict[str, Predictable] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def begin(self, attempt: Attempt) -> None:
        name = attempt.adapter
        if name not in self._adapters:
            try:
                self._add(name, attempt.settings)
            except (Exception, SystemExit) as error:
                self._report(Replied(attempt.id, failure_reply(error)))
                return
        adapter = self._predictable.get(name)
        if adapter is None:
            super().begin(attempt)
        else:
            self._predict(adapter, attempt)

    def _add(self, name: str, settings: Mapping[str, Any]) -> None:
        adapter = self._adapters[name] = self._make(name, settings)
        if isinstance(adapter, Predictable):
            self._predictable[name] = adapter

    def _predict(self, adapter: Predictable, attempt: Attempt) -> None:
        """Reports a known reply, which needs no coroutine, at once or after its latency."""
        call = attempt.id
        try:
            reply, latency_ms = adapter.predict(attempt)
            if latency_ms:
                loop = asyncio.get_running_loop()
                self._timers[call] = loop.call_later(latency_ms / 1_000, self._report_timed, Replied(call, reply))
                return
        except (Exception, SystemExit) as error:
            reply = failure_reply(error)
        self._reports.append(Replied(call, reply))
        self._wake()

    def _report_timed(self, report: Replied) -> None:
        del self._timers[report.call]
        self._report(report)

    async def _answer(self, attempt: Attempt) -> Reply:
        return await self._adapters[attempt.adapter].answer(attempt)

    def cancel(self, call: str) -> None:
        timer = self._timers.pop(call, None)
        if timer is None:
            super().cancel(call)
        else:
            timer.cancel()
            self._report(Replied(call, CANCELLED))

    async def _dispose(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        closing = [asyncio.create_task(_close(adapter)) for adapter in self._adapters.values()]
        if closing:
            # `wait_for` would wait for an adapter that ignores its cancellation.
            await asyncio.wait(closing, timeout=_CLOSE_PATIENCE_S)


async def _close(adapter: Adapter) -> None:
    with suppress(Exception, SystemExit, KeyboardInterrupt):
        await adapter.close()
