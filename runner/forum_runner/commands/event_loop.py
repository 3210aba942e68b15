"""Runs a coroutine in a private event loop that ends soon after it, whatever adapters have left running there.

`asyncio.run` waits for every cancelled task and every thread: an adapter that ignores its cancellation would keep the
process alive forever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from forum_runner.commands.process_exit import keep

# For the remaining tasks, and then for generators, to clean up.
_PATIENCE_S = 1.0
# Threads start on demand. One must be left for the ledger, however many an adapter blocks.
_MOST_THREADS = 10_000

T = TypeVar("T")


def run_main(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, but waits only a moment for anything other than `main`.

    An interrupt raises KeyboardInterrupt where the code is, unless `main` handles the signal.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_default_executor(ThreadPoolExecutor(_MOST_THREADS, "forum"))
    task = loop.create_task(main)
    try:
        return _result(loop, task)
    finally:
        # A second interrupt, or an adapter's exit, stops the wait; the result of `main` is kept.
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_until_complete(_end_others(loop))
        keep(asyncio.all_tasks(loop))
        asyncio.set_event_loop(None)
        loop.close()  # does not wait for its threads


def _result(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T]) -> T:
    while not task.done():
        try:
            loop.run_until_complete(asyncio.wait({task}))
        except SystemExit:
            # A task of an adapter raised it. Code that awaits that task gets it; nothing else ends.
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
        _, left = await asyncio.wait(others, timeout=_PATIENCE_S)
        if left:
            return  # they may be inside generators, which then cannot be closed
    await asyncio.wait({loop.create_task(loop.shutdown_asyncgens())}, timeout=_PATIENCE_S)
