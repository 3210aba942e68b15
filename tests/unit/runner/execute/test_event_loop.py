"""The loop of a run ends when its coroutine has, and everything that this one has to do is done."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import nullcontext

import pytest

from forum_runner.commands.event_loop import run_main


async def ignore_cancellation() -> None:
    while True:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            continue


def exit_with(code: int) -> None:
    raise SystemExit(code)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_task_that_ignores_its_cancellation_is_left() -> None:
    async def main() -> str:
        asyncio.create_task(ignore_cancellation())  # noqa: RUF006 - nobody waits for it
        await asyncio.sleep(0)
        return "done"

    assert run_main(main()) == "done"


def test_a_thread_is_left() -> None:
    is_over = threading.Event()

    async def main() -> str:
        asyncio.get_running_loop().run_in_executor(None, is_over.wait)
        return "done"

    try:
        assert run_main(main()) == "done"
    finally:
        is_over.set()


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_task_that_lets_itself_be_cancelled_may_put_its_things_away(is_interrupted: bool) -> None:
    told: list[str] = []

    async def generate() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            told.append("generator")

    async def work() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            await asyncio.sleep(0)
            told.append("task")

    generator = generate()

    async def main() -> None:
        asyncio.create_task(work())  # noqa: RUF006 - nobody waits for it
        await anext(generator)
        if is_interrupted:
            interrupt()

    with pytest.raises(KeyboardInterrupt) if is_interrupted else nullcontext():
        run_main(main())

    assert told == ["task", "generator"]


def test_the_exit_of_another_task_does_not_end_main() -> None:
    async def leave() -> None:
        exit_with(3)

    async def main() -> BaseException:
        task = asyncio.create_task(leave())
        await asyncio.wait({task})
        error = task.exception()
        assert error is not None
        return error

    assert repr(run_main(main())) == "SystemExit(3)"


def test_an_exit_of_main_is_one() -> None:
    async def main() -> None:
        exit_with(3)

    with pytest.raises(SystemExit, match="3"):
        run_main(main())


def test_main_puts_its_things_away_when_it_is_interrupted() -> None:
    told: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().call_soon(interrupt)
        try:
            await asyncio.sleep(3_600)
        finally:
            await asyncio.sleep(0.05)
            told.append("main")

    with pytest.raises(KeyboardInterrupt):
        run_main(main())

    assert told == ["main"]


@pytest.mark.parametrize("end", [interrupt, lambda: exit_with(3)])
def test_what_main_gave_back_is_not_lost_by_what_comes_later(end: object) -> None:
    async def end_late() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            assert callable(end)
            end()

    async def main() -> str:
        asyncio.create_task(end_late())  # noqa: RUF006 - nobody waits for it
        await asyncio.sleep(0)
        return "done"

    assert run_main(main()) == "done"
