"""The engine `process`: adapters run in worker processes, so a faulty adapter does not harm other calls.

Each call has a worker to itself, and workers are reused. A call whose worker dies is lost.
"""

from __future__ import annotations

import asyncio

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply
from forum_adapters.programs.process_keeper import Keeper
from forum_runner.execute.engines.coroutine_engine import CoroutineEngine
from forum_runner.execute.engines.worker_process import WorkerProcess

# How long an adapter may take to end a cancelled call before its worker is killed.
_CANCEL_PATIENCE_S = 5.0
# How long a killed worker may take to end.
_KILL_PATIENCE_S = 4.0
# How long adapters may take to close.
_CLOSE_PATIENCE_S = 10.0
# A worker is replaced after this many calls, which frees everything that its adapters leak.
_CALLS_PER_WORKER = 100


class ProcessEngine(CoroutineEngine):
    def __init__(self) -> None:
        super().__init__()
        self._keeper = Keeper()
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._closing: set[asyncio.Task[None]] = set()

    async def _answer(self, attempt: Attempt) -> Reply:
        try:
            worker = self._idle_worker() or WorkerProcess(self._keeper)
        except OSError as error:
            return Reply(failure=Failure(ErrorKind.TOOL_FAILURE, f"cannot start a worker process: {error}"))
        self._busy.add(worker)
        try:
            reply = await self._supervise(worker, attempt)
        except BaseException:
            worker.discard()
            raise
        finally:
            self._busy.discard(worker)
        if worker.pid is None or worker.calls >= _CALLS_PER_WORKER:
            self._close(worker)
        else:
            self._idle.append(worker)
        return reply

    def _idle_worker(self) -> WorkerProcess | None:
        """A worker that can be reused; None if there is none. Discards those that an adapter broke after its call."""
        while self._idle:
            worker = self._idle.pop()
            if worker.is_reusable():
                return worker
            worker.discard()
        return None

    async def _supervise(self, worker: WorkerProcess, attempt: Attempt) -> Reply:
        """The worker's reply. If the call is cancelled, the adapter may still return a partial result."""
        reply = asyncio.ensure_future(worker.answer(attempt))
        try:
            return await asyncio.shield(reply)
        except asyncio.CancelledError:
            may_run = worker.cancel(attempt.id)
            if may_run:
                await asyncio.wait({reply}, timeout=_CANCEL_PATIENCE_S)
            if reply.done():
                return reply.result()
            if may_run:
                worker.kill()
                await asyncio.wait({reply}, timeout=_KILL_PATIENCE_S)
            raise
        finally:
            reply.cancel()
            reply.add_done_callback(_retrieve)

    def _close(self, worker: WorkerProcess) -> None:
        task = asyncio.ensure_future(worker.close(_CLOSE_PATIENCE_S))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _dispose(self) -> None:
        for worker in self._busy:
            worker.kill()
        for worker in self._idle:
            self._close(worker)
        self._idle.clear()
        waiting = [*self._closing, *self._tasks.values()]
        if waiting:
            await asyncio.wait(waiting, timeout=_CLOSE_PATIENCE_S + 1)
        await self._keeper.close()


def _retrieve(reply: asyncio.Future[Reply]) -> None:
    """Retrieves the exception of a reply that nobody awaits, because asyncio would warn about it."""
    if not reply.cancelled():
        reply.exception()
