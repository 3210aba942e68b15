"""The event loop of a run ends with its main coroutine, after cleanup has finished."""

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


def test_a_task_that_ignores_cancellation_is_abandoned() -> None:
    async def main() -> str:
        asyncio.create_task(ignore_cancellation())  # noqa: RUF006 - nothing awaits it
        await asyncio.sleep(0)
        return "done"

    assert run_main(main()) == "done"


def test_a_running_thread_is_abandoned() -> None:
    may_end = threading.Event()

    async def main() -> str:
        asyncio.get_running_loop().run_in_executor(None, may_end.wait)
        return "done"

    try:
        assert run_main(main()) == "done"
    finally:
        may_end.set()


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_cancelled_task_and_an_open_generator_can_clean_up(is_interrupted: bool) -> None:
    cleaned_up: list[str] = []

    async def generate() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            cleaned_up.append("generator")

    async def work() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            await asyncio.sleep(0)
            cleaned_up.append("task")

    generator = generate()

    async def main() -> None:
        asyncio.create_task(work())  # noqa: RUF006 - nothing awaits it
        await anext(generator)
        if is_interrupted:
            interrupt()

    with pytest.raises(KeyboardInterrupt) if is_interrupted else nullcontext():
        run_main(main())

    assert cleaned_up == ["task", "generator"]


def test_system_exit_in_another_task_does_not_end_main() -> None:
    async def leave() -> None:
        exit_with(3)

    async def main() -> BaseException:
        task = asyncio.create_task(leave())
        await asyncio.wait({task})
        error = task.exception()
        assert error is not None
        return error

    assert repr(run_main(main())) == "SystemExit(3)"


def test_system_exit_in_main_is_raised() -> None:
    async def main() -> None:
        exit_with(3)

    with pytest.raises(SystemExit, match="3"):
        run_main(main())


def test_main_can_clean_up_when_interrupted() -> None:
    cleaned_up: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().call_soon(interrupt)
        try:
            await asyncio.sleep(3_600)
        finally:
            await asyncio.sleep(0.05)
            cleaned_up.append("main")

    with pytest.raises(KeyboardInterrupt):
        run_main(main())

    assert cleaned_up == ["main"]


@pytest.mark.parametrize("end", [interrupt, lambda: exit_with(3)])
def test_the_result_of_main_survives_exceptions_during_cleanup(end: object) -> None:
    async def end_late() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            assert callable(end)
            end()

    async def main() -> str:
        asyncio.create_task(end_late())  # noqa: RUF006 - nothing awaits it
        await asyncio.sleep(0)
        return "done"

    assert run_main(main()) == "done"
