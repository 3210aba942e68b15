"""A run in an event loop, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forum_runner.app.reuse import ReuseDecision
from forum_runner.errors import ExitCode, UnfinishedRunError, UsageError, file_errors
from forum_runner.execute.machine import Outcome
from forum_runner.history.read_history import read_history
from forum_runner.ledger.source import LedgerSource, ledger_at
from forum_runner.report.run_result import RunResult, read_result

_EXIT_CODES = {
    "passed": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "stopped": ExitCode.BUDGET,
    "refused": ExitCode.REFUSED,
    "cancelled": ExitCode.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class EndedRun:
    """How a run finished or paused, its directory, and why results of earlier runs were reused or not.

    `already_finished` is True if the run had already finished when it was resumed.
    """

    directory: Path
    run: str
    outcome: Outcome
    reuse_decisions: tuple[ReuseDecision, ...] = ()
    already_finished: bool = False

    @property
    def status(self) -> str:
        return self.outcome.status

    @property
    def exit_code(self) -> ExitCode:
        if self.outcome.status == "paused":
            return ExitCode.PAUSED if self.outcome.reason == "gate" else ExitCode.INTERRUPTED
        return _EXIT_CODES[self.outcome.status]

    def result(self) -> RunResult:
        """Tasks, outputs, failures, cost and pending gates, read from the run directory."""
        with file_errors():
            return read_result(self.directory, read_history(ledger_at(self.directory)), self.exit_code)


class RunHandle:
    """A run in the event loop that started it. `cancel` may be called from any thread.

    `interrupt` asks for an orderly pause. If it is None (a run in virtual time, or one that has already ended),
    `cancel` stops the run at once. `resources` are closed when the run ends.
    """

    def __init__(
        self,
        directory: Path,
        run: str,
        work: Coroutine[Any, Any, EndedRun],
        interrupt: Callable[[], None] | None,
        resources: ExitStack,
    ) -> None:
        self.directory = directory
        self.run = run
        self._interrupt = interrupt
        self._resources = resources
        self._is_pausing = False
        # The exception that an observer raised when the run was asked to pause.
        self._pause_error: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._on_done)
        _active[directory.resolve()] = self

    async def wait(self) -> EndedRun:
        """Returns when the run has finished or paused. Cancelling this call pauses the run, then raises."""
        self._raise_if_abandoned()
        if not self._task.done() and asyncio.get_running_loop() is not self._loop:
            raise UsageError(
                f"the run in '{self.directory}' was started in a different event loop; call wait() in that loop"
            )
        try:
            with file_errors():
                return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            await self._pause()
            if self._is_waiter_cancelled():
                raise
            raise self._pause_error or UnfinishedRunError(self.directory) from None

    async def _pause(self) -> None:
        self.cancel()
        try:
            await asyncio.wait({self._task})
        except asyncio.CancelledError:
            self.cancel(now=True)
            await asyncio.wait({self._task})

    @staticmethod
    def _is_waiter_cancelled() -> bool:
        """Whether the task that waits was cancelled. If not, the run itself was."""
        waiter = asyncio.current_task()
        return waiter is None or waiter.cancelling() > 0

    def cancel(self, *, now: bool = False) -> None:
        """Pauses the run (status `paused`, not `cancelled`): open calls are cancelled and recorded.

        With `now`, does not wait for them.
        """
        self._raise_if_abandoned()
        if not self._task.done():
            self._loop.call_soon_threadsafe(self._cancel, now)

    def close_if_abandoned(self) -> bool:
        """Closes the ledger if the event loop was closed before the run ended. Returns whether it was."""
        is_abandoned = self._loop.is_closed() and not self._task.done()
        if is_abandoned:
            self._release()
            _abandoned.add(self)
        return is_abandoned

    def _raise_if_abandoned(self) -> None:
        if self.close_if_abandoned():
            raise UnfinishedRunError(self.directory, "the run ended because its event loop was closed")

    def close_at_end(self, stack: ExitStack) -> None:
        """Closes `stack` when the run ends."""
        self._resources.push(stack)

    def _cancel(self, now: bool) -> None:
        if now or self._interrupt is None:
            self._task.cancel()
        elif not self._is_pausing:
            self._is_pausing = True
            try:
                self._interrupt()
            except Exception as error:
                self._pause_error = error
                self._task.cancel()

    def _on_done(self, task: asyncio.Task[EndedRun]) -> None:
        self._release()
        if not task.cancelled():
            task.exception()  # otherwise asyncio logs an exception that nobody retrieved

    def _release(self) -> None:
        directory = self.directory.resolve()
        if _active.get(directory) is self:
            del _active[directory]
        self._resources.close()


_active: dict[Path, RunHandle] = {}
# Kept forever, because asyncio logs an error when the task of such a run is garbage-collected.
_abandoned: set[RunHandle] = set()


def ended_handle(ended: EndedRun, resources: ExitStack | None = None) -> RunHandle:
    """The handle of a run that has already finished or paused."""
    resources = resources or ExitStack()

    async def work() -> EndedRun:
        with resources:
            return ended

    return RunHandle(ended.directory, ended.run, work(), None, resources)


def close_abandoned_run(directory: Path) -> None:
    """Closes the ledger of a run if this process started it in an event loop that was closed."""
    handle = _active.get(directory.resolve())
    if handle is not None:
        handle.close_if_abandoned()


def active_run(source: LedgerSource) -> RunHandle:
    """The handle of a run that this process executes."""
    handle = None if source.directory is None else _active.get(source.directory.resolve())
    if handle is None:
        raise UsageError(f"this process is not running '{source.name}'")
    return handle
