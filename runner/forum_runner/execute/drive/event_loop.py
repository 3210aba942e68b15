"""Runs a coroutine in an event loop of its own, which ends soon after it, whatever others have left running in there.

`asyncio.run` waits for every task that was cancelled and for every thread of the loop: an adapter that ignores its
cancellation would hold up the process for good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from forum_runner.execute.drive.process_exit import keep

# For the tasks that are left, and then for generators: whoever has something to put away does it at once.
_PATIENCE_S = 1.0
# Threads are made as they are needed. There must be one left for us, however many an adapter lets sleep.
_MOST_THREADS = 10_000

T = TypeVar("T")


def run_main(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, also when it is interrupted; but nobody but `main` is waited for longer than a moment."""
    # The runner is never closed, as that would wait: its loop is ended here.
    runner = asyncio.Runner()
    loop = runner.get_loop()
    loop.set_default_executor(ThreadPoolExecutor(_MOST_THREADS, "forum"))
    task = loop.create_task(main)
    try:
        return _outcome(runner, task)
    finally:
        # An interrupt, or another's exit, is no reason to lose what `main` gave back: it only ends the patience.
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_until_complete(_end_others(loop))
        keep(asyncio.all_tasks(loop))
        asyncio.set_event_loop(None)
        loop.close()  # which tells its threads to end, and does not wait for them


def _outcome(runner: asyncio.Runner, task: asyncio.Task[T]) -> T:
    while not task.done():
        try:
            runner.run(_ended(task))
        except SystemExit:
            # Of a task that an adapter made: it is told to whoever waits for that task, and ends nobody else.
            continue
        except KeyboardInterrupt:
            if not task.done():
                task.cancel()
                with suppress(SystemExit):
                    runner.run(_ended(task))
            if task.cancelled():
                raise
    return task.result()


async def _ended(task: asyncio.Task[T]) -> None:
    """Does not raise what the task does: an interrupt would end the loop once more."""
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise


async def _end_others(loop: asyncio.AbstractEventLoop) -> None:
    others = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        _, left = await asyncio.wait(others, timeout=_PATIENCE_S)
        if left:
            return  # they may be inside of generators, which then cannot be closed
    await asyncio.wait({loop.create_task(loop.shutdown_asyncgens())}, timeout=_PATIENCE_S)
