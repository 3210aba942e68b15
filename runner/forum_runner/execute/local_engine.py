"""The engine of this process: each attempt is a coroutine of its adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from forum_adapters.base import Adapter, Attempt, ErrorKind, Failure, Foreseen, Reply
from forum_runner.execute.events import Lost, Replied

MakeAdapter = Callable[[str, Mapping[str, Any]], Adapter]
# An adapter keeps its own time; this is for one that does not.
_GRACE_S = 15.0


class LocalEngine:
    def __init__(self, make_adapter: MakeAdapter) -> None:
        self._make_adapter = make_adapter
        self._adapters: dict[str, tuple[Adapter, float]] = {}
        self._tasks: dict[str, asyncio.Task[Reply]] = {}
        self._overdue: set[str] = set()
        self._reports: list[Replied | Lost] = []
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def begin(self, attempt: Attempt) -> None:
        adapter, grace_s = self._adapters.get(attempt.adapter) or self._made(attempt)
        loop = asyncio.get_running_loop()
        task = loop.create_task(adapter.answer(attempt))
        self._tasks[attempt.id] = task
        timer = loop.call_later(attempt.limits.timeout_ms / 1_000 + grace_s, self._expire, attempt.id)
        task.add_done_callback(lambda done: self._settle(attempt.id, timer, done))

    def _made(self, attempt: Attempt) -> tuple[Adapter, float]:
        """An adapter, and how long it has beyond its limit."""
        adapter = self._make_adapter(attempt.adapter, attempt.settings)
        made = self._adapters[attempt.adapter] = adapter, 0.0 if isinstance(adapter, Foreseen) else _GRACE_S
        return made

    def _expire(self, call: str) -> None:
        self._overdue.add(call)
        self.cancel(call)

    def _settle(self, call: str, timer: asyncio.TimerHandle, done: asyncio.Task[Reply]) -> None:
        timer.cancel()
        del self._tasks[call]
        if done.cancelled():
            kind = ErrorKind.TIMEOUT if call in self._overdue else ErrorKind.CANCELLED
            message = "it took longer than it may" if kind is ErrorKind.TIMEOUT else "it was cancelled"
            reply = Reply(failure=Failure(kind, message))
        elif (error := done.exception()) is not None:
            reply = Reply(failure=Failure(ErrorKind.INTERNAL, f"the adapter failed: {type(error).__name__}: {error}"))
        else:
            reply = done.result()
        self._overdue.discard(call)
        self._reports.append(Replied(call, reply))
        self._wake()

    def cancel(self, call: str) -> None:
        task = self._tasks.get(call)
        if task is not None:
            task.cancel()

    def reports(self) -> list[Replied | Lost]:
        found, self._reports = self._reports, []
        return found

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for adapter, _ in self._adapters.values():
            with suppress(Exception):
                await adapter.close()
