"""The base of engines that carry out each attempt in an asyncio task."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply
from forum_runner.execute.call_report import Lost, Replied

# How long cancelled calls may take to end while the engine closes.
_CLOSE_PATIENCE_S = 1.0
CANCELLED = Reply(failure=Failure(ErrorKind.CANCELLED, "the call was cancelled"))
_CANCELLED_ITSELF = Reply(failure=Failure(ErrorKind.INTERNAL, "the adapter cancelled itself"))


class LostCall(Exception):
    """The outcome of a call is unknown."""


class CoroutineEngine(ABC):
    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._cancelled: set[str] = set()
        self._reports: list[Replied | Lost] = []
        self._wake: Callable[[], None] = lambda: None

    @abstractmethod
    async def _answer(self, attempt: Attempt) -> Reply:
        """Carry out one attempt. Raise LostCall if its outcome is unknown."""

    @abstractmethod
    async def _dispose(self) -> None:
        """Release the resources that calls share, after the last call has ended."""

    def attach(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def begin(self, attempt: Attempt) -> None:
        self._tasks[attempt.id] = asyncio.get_running_loop().create_task(self._call(attempt))

    async def _call(self, attempt: Attempt) -> None:
        """Carries out an attempt and reports it. A callback of the task would report it one loop iteration later."""
        call = attempt.id
        report: Replied | Lost
        try:
            report = Replied(call, await self._answer(attempt))
        except asyncio.CancelledError:
            report = Replied(call, CANCELLED if call in self._cancelled else _CANCELLED_ITSELF)
        except LostCall:
            report = Lost(call)
        except BaseException as error:  # SystemExit too: only a signal ends a run
            report = Replied(call, failure_reply(error))
        self._report(report)

    def _report(self, report: Replied | Lost) -> None:
        self._tasks.pop(report.call, None)
        self._cancelled.discard(report.call)
        self._reports.append(report)
        self._wake()

    def cancel(self, call: str) -> None:
        task = self._tasks.get(call)
        if task is not None:
            self._cancelled.add(call)
            task.cancel()
            task.add_done_callback(lambda _: self._report_unstarted(call))

    def _report_unstarted(self, call: str) -> None:
        """Reports a task that was cancelled before its coroutine started."""
        if call in self._tasks:
            self._report(Replied(call, CANCELLED))

    def reports(self) -> list[Replied | Lost]:
        found, self._reports = self._reports, []
        return found

    async def close(self) -> None:
        for call in list(self._tasks):
            self.cancel(call)
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=_CLOSE_PATIENCE_S)
        await self._dispose()


def failure_reply(error: BaseException, source: str = "adapter") -> Reply:
    description = type(error).__name__
    with suppress(Exception):  # an error of another package may have no text
        description += f": {error}"
    return Reply(failure=Failure(ErrorKind.INTERNAL, f"the {source} failed: {description}"))
