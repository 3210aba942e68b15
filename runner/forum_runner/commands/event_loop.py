"""Runs a coroutine in a private event loop, which ends soon after the coroutine even if adapters left tasks running.

`asyncio.run` waits for every cancelled task and every thread: an adapter that ignores its cancellation would keep the
process alive forever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from forum_runner.commands.process_exit import keep_pending

# How long the remaining tasks may take to clean up, and then the generators.
_CLEANUP_TIMEOUT_S = 1.0
# Threads start on demand. The ledger needs one, however many an adapter blocks.
_MAX_THREADS = 10_000

T = TypeVar("T")


def run_main(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, but waits only a moment for anything other than `main`.

    An interrupt raises KeyboardInterrupt, unless `main` handles the signal.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_default_executor(ThreadPoolExecutor(_MAX_THREADS, "forum"))
    task = loop.create_task(main)
    try:
        return _result(loop, task)
    finally:
        # A second interrupt, or an adapter's exit, stops the wait; the result of `main` is kept.
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_until_complete(_end_others(loop))
        keep_pending(asyncio.all_tasks(loop))
        asyncio.set_event_loop(None)
        loop.close()  # does not wait for its threads


def _result(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T]) -> T:
    while not task.done():
        try:
            loop.run_until_complete(asyncio.wait({task}))
        except SystemExit:
            # A task of an adapter raised SystemExit. Code that awaits the task receives it; nothing else ends.
            continue
        except KeyboardInterrupt:
            if not task.done():
                task.cancel()
                with suppress(SystemExit):
                    loop.run_until_complete(asyncio.wait({task}))
            if task.cancelled():
                raise
    return task.result()


async def _end_others(loop: asyncio.AbstractEventLoop) -> None:
    others = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        _, pending = await asyncio.wait(others, timeout=_CLEANUP_TIMEOUT_S)
        if pending:
            return  # the tasks may be inside generators, which then cannot be closed
    await asyncio.wait({loop.create_task(loop.shutdown_asyncgens())}, timeout=_CLEANUP_TIMEOUT_S)
