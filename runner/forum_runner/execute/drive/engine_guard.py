"""Protects a run from its engine: the driver gets exactly one checked report per attempt, in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from msgspec import structs

from forum_adapters.base import Attempt, ErrorKind, Failure, Limits
from forum_runner.execute.call_report import Lost, Replied
from forum_runner.execute.engines import Engine, checked_reply, failure_reply

# How long after its timeout a call is cancelled. Adapters enforce the timeout; this is for those that do not.
_TIMEOUT_GRACE_S = 15.0
# How long a cancelled call may take to end. A program's grace period is part of it.
_CANCEL_PATIENCE_S = 10.0
# How long the engine may take to close.
_CLOSE_PATIENCE_S = 30.0
# Everything that an engine may raise. Only an interrupt ends the run.
_ENGINE_ERRORS = (Exception, SystemExit, GeneratorExit, asyncio.CancelledError)


class EngineGuard:
    """Checks everything that an engine does, because it may come from another package.

    Repeated reports and reports about unknown calls are ignored. Malformed replies and attempts that the engine cannot
    start become failures. A call that is not reported in time is cancelled, and then lost. If the engine fails to
    report, all open calls are lost.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # The limits of each open call, and the time at which it becomes overdue.
        self._open: dict[str, tuple[Limits, float]] = {}
        self._overdue: set[str] = set()
        self._is_attached = False
        self._own_reports: list[Replied | Lost] = []
        self._watchdog: asyncio.TimerHandle | None = None
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def begin(self, attempt: Attempt) -> None:
        loop = asyncio.get_running_loop()
        limits = attempt.limits
        deadline_s = loop.time() + limits.timeout_ms / 1_000 + _TIMEOUT_GRACE_S
        self._open[attempt.id] = limits, deadline_s
        try:
            if not self._is_attached:
                self._engine.attach(self._wake)
                self._is_attached = True
            self._engine.begin(attempt)
        except _ENGINE_ERRORS as error:
            self._add(Replied(attempt.id, failure_reply(error, "engine")))
        if self._watchdog is None or deadline_s < self._watchdog.when():
            self._watch(loop, deadline_s)

    def _watch(self, loop: asyncio.AbstractEventLoop, until_s: float) -> None:
        """Sets the timer for overdue calls. One timer serves all calls, because they are almost never overdue."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._watchdog = loop.call_at(until_s, self._cancel_overdue, loop)

    def _cancel_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        self._watchdog = None
        now_s = loop.time()
        waiting = {call: deadline_s for call, (_, deadline_s) in self._open.items() if call not in self._overdue}
        for call, deadline_s in waiting.items():
            if deadline_s <= now_s:
                self._overdue.add(call)
                self.cancel(call)
        later_s = [deadline_s for deadline_s in waiting.values() if deadline_s > now_s]
        if later_s:
            self._watch(loop, min(later_s))

    def cancel(self, call: str) -> None:
        if call not in self._open:
            return
        # If the engine does not report the call, for whatever reason, the call is lost.
        asyncio.get_running_loop().call_later(_CANCEL_PATIENCE_S, self._add, Lost(call))
        with suppress(*_ENGINE_ERRORS):
            self._engine.cancel(call)

    def _add(self, report: Replied | Lost) -> None:
        if report.call in self._open:
            self._own_reports.append(report)
            self._wake()

    def reports(self) -> list[Replied | Lost]:
        found: list[Replied | Lost] = []
        try:
            self._take(self._engine.reports(), found)
        except _ENGINE_ERRORS:
            self._own_reports += map(Lost, self._open)
        if self._own_reports:
            own_reports, self._own_reports = self._own_reports, []
            self._take(own_reports, found)
        return found

    def _take(self, reports: Iterable[Replied | Lost], found: list[Replied | Lost]) -> None:
        for report in reports:
            # Ignore a report that names no call.
            id_ = getattr(report, "call", None)
            call = self._open.pop(id_, None) if isinstance(id_, str) else None
            if call is not None:
                found.append(self._checked(report, call[0]))

    def _checked(self, report: Any, limits: Limits) -> Replied | Lost:
        is_overdue = report.call in self._overdue
        self._overdue.discard(report.call)
        if not isinstance(report, Replied):
            # A malformed report shows that the call ended, but not how.
            return report if isinstance(report, Lost) else Lost(report.call)
        reply = checked_reply(report.reply, limits)
        if is_overdue and reply.failure is not None and reply.failure.kind is ErrorKind.CANCELLED:
            reply = structs.replace(reply, failure=Failure(ErrorKind.TIMEOUT, "the call exceeded its timeout"))
        return report if reply is report.reply else Replied(report.call, reply)

    async def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
        closing = asyncio.ensure_future(_close(self._engine))
        # `wait_for` would wait for an engine that ignores its cancellation.
        await asyncio.wait({closing}, timeout=_CLOSE_PATIENCE_S)


async def _close(engine: Engine) -> None:
    with suppress(*_ENGINE_ERRORS):
        await engine.close()
