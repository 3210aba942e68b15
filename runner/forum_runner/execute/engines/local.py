"""The engine of this process: each attempt is a coroutine of its adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from forum_adapters.base import Adapter, Attempt, ErrorKind, Failure, Limits, Predictable, Reply, Usage
from forum_runner.canonical import MAX_INTEGER
from forum_runner.execute.machine.events import Lost, Replied

MakeAdapter = Callable[[str, Mapping[str, Any]], Adapter]
# An adapter keeps its own time; this is for one that does not.
_GRACE_S = 15.0
# How long an adapter may take to end a call that is cancelled, a program's grace included.
_PATIENCE_S = 10.0
# The same where nobody is left who would record how it ended. Programs are waited for when their adapter is closed.
_LAST_PATIENCE_S = 1.0
_CANCELLED = "it was cancelled"


class LocalEngine:
    def __init__(self, make_adapter: MakeAdapter) -> None:
        self._make_adapter = make_adapter
        self._adapters: dict[str, Adapter] = {}
        self._predictable: dict[str, Predictable] = {}
        self._under_way: dict[str, asyncio.Task[None] | asyncio.TimerHandle] = {}
        self._deadlines: dict[str, float] = {}
        self._watchdog: asyncio.TimerHandle | None = None
        self._overdue: set[str] = set()
        self._asked: set[str] = set()
        self._reports: list[Replied | Lost] = []
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def begin(self, attempt: Attempt) -> None:
        name = attempt.adapter
        if name not in self._adapters:
            self._make(name, attempt.settings)
        foreseen = self._predictable.get(name)
        if foreseen is not None:
            self._predict(foreseen, attempt)
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + attempt.limits.timeout_ms / 1_000 + _GRACE_S
        self._deadlines[attempt.id] = deadline
        self._under_way[attempt.id] = loop.create_task(self._call(self._adapters[name], attempt))
        if self._watchdog is None or deadline < self._watchdog.when():
            self._watch(loop, deadline)

    def _make(self, name: str, settings: Mapping[str, Any]) -> None:
        adapter = self._adapters[name] = self._make_adapter(name, settings)
        if isinstance(adapter, Predictable):
            self._predictable[name] = adapter

    def _predict(self, adapter: Predictable, attempt: Attempt) -> None:
        """An answer that is known needs no coroutine: it is there at once, or when its time has passed."""
        try:
            reply, latency_ms = adapter.predict(attempt)
            reply = _checked(reply, attempt.limits)
        except (Exception, SystemExit) as error:  # whatever an adapter of somebody else raises is the attempt's failure
            reply, latency_ms = _failed(error), 0
        report = Replied(attempt.id, reply)
        if latency_ms:
            loop = asyncio.get_running_loop()
            self._under_way[attempt.id] = loop.call_later(latency_ms / 1_000, self._report, report)
        else:
            # It was never under way, so there is nothing to forget.
            self._reports.append(report)
            self._wake()

    def _watch(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        """One timer for all calls, as nearly none is ever due."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._watchdog = loop.call_at(until, self._end_overdue, loop)

    def _end_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        self._watchdog = None
        now = loop.time()
        for call in [call for call, deadline in self._deadlines.items() if deadline <= now]:
            del self._deadlines[call]
            self._overdue.add(call)
            self.cancel(call)
        if self._deadlines:
            self._watch(loop, min(self._deadlines.values()))

    async def _call(self, adapter: Adapter, attempt: Attempt) -> None:
        """Reports by itself: a callback of its task would be called a round of the loop later."""
        call = attempt.id
        try:
            reply = _checked(await adapter.answer(attempt), attempt.limits)
            if call in self._overdue and reply.failure is not None and reply.failure.kind is ErrorKind.CANCELLED:
                reply = reply._replace(failure=self._why_cancelled(call))
        except asyncio.CancelledError:
            reply = Reply(failure=self._why_cancelled(call))
        except BaseException as error:  # also an exit: nobody but a person ends a run, and that comes by a signal
            reply = _failed(error)
        # What was given up is not under way: whatever it says comes too late.
        if call in self._under_way:
            self._report(Replied(call, reply))

    def _report_unbegun(self, call: str) -> None:
        """A task that is cancelled before its first step runs nothing of its coroutine."""
        if call in self._under_way:
            self._report(Replied(call, Reply(failure=self._why_cancelled(call))))

    def _why_cancelled(self, call: str) -> Failure:
        if call in self._overdue:
            return Failure(ErrorKind.TIMEOUT, "it took longer than it may")
        if call in self._asked:
            return Failure(ErrorKind.CANCELLED, _CANCELLED)
        return Failure(ErrorKind.INTERNAL, "the adapter cancelled itself")

    def _report(self, report: Replied | Lost) -> None:
        call = report.call
        self._under_way.pop(call, None)
        self._deadlines.pop(call, None)
        if self._asked:
            self._overdue.discard(call)
            self._asked.discard(call)
        self._reports.append(report)
        self._wake()

    def cancel(self, call: str) -> None:
        under_way = self._under_way.get(call)
        if isinstance(under_way, asyncio.Task):
            self._asked.add(call)
            under_way.cancel()
            under_way.add_done_callback(lambda _: self._report_unbegun(call))
            asyncio.get_running_loop().call_later(_PATIENCE_S, self._give_up, call)
        elif under_way is not None:
            under_way.cancel()
            self._report(Replied(call, Reply(failure=Failure(ErrorKind.CANCELLED, _CANCELLED))))

    def _give_up(self, call: str) -> None:
        """An adapter that does not let itself be cancelled must not hold up a run: nobody knows how the call ends."""
        if call in self._under_way:
            self._report(Lost(call))

    def reports(self) -> list[Replied | Lost]:
        found, self._reports = self._reports, []
        return found

    async def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
        for under_way in self._under_way.values():
            under_way.cancel()
        tasks = [task for task in self._under_way.values() if isinstance(task, asyncio.Task)]
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_PATIENCE_S)
        closing = [asyncio.create_task(_close(adapter)) for adapter in self._adapters.values()]
        if closing:
            # Not by a timeout, which would wait for an adapter that ignores it.
            await asyncio.wait(closing, timeout=_PATIENCE_S)


async def _close(adapter: Adapter) -> None:
    with suppress(Exception, SystemExit, KeyboardInterrupt):
        await adapter.close()


def _checked(reply: object, limits: Limits) -> Reply:
    """What an adapter of somebody else gives back may be anything."""
    if not isinstance(reply, Reply):
        return _misshapen(f"a {type(reply).__name__}, and not a Reply")
    problem = _problem_with(reply)
    if problem is not None:
        return _misshapen(problem)
    content, most = reply.content, limits.max_output_bytes
    if len(content) <= most:
        return reply
    failure = Failure(ErrorKind.OUTPUT_LIMIT, f"the answer has more than {most:,} bytes")
    return reply._replace(content=content[:most], failure=failure)


def _misshapen(problem: str) -> Reply:
    return Reply(failure=Failure(ErrorKind.INTERNAL, f"the adapter gave back {problem}"))


def _problem_with(reply: Reply) -> str | None:
    content, failure, usage, exit_status, _, stderr, _, _ = reply
    if not isinstance(content, bytes) or not isinstance(stderr, bytes):
        return "a Reply whose content or stderr is not bytes"
    if failure is not None and not isinstance(failure.kind, ErrorKind):
        return f"a Failure of the kind {failure.kind!r}, which is no ErrorKind"
    if usage is not None and not _counts(usage):
        return "a Usage that is not whole numbers of tokens"
    if exit_status is not None and not -255 <= exit_status <= 2**32 - 1:
        return f"the exit status {exit_status}"
    return None


def _counts(usage: Usage) -> bool:
    sent, cached, made = usage
    if type(sent) is not int or type(cached) is not int or type(made) is not int:
        return False
    # All three at once: the limit has every bit set that a number may have, and the sign is a bit too.
    return 0 <= sent | cached | made <= MAX_INTEGER


def _failed(error: BaseException) -> Reply:
    return Reply(failure=Failure(ErrorKind.INTERNAL, f"the adapter failed: {type(error).__name__}: {error}"))
