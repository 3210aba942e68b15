"""The local engine: no adapter can block or break a run."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from msgspec import structs

from forum_adapters.base import Attempt, ErrorKind, Executable, Failure, Limits, Prompt, Reply, Usage
from forum_runner.commands.event_loop import run_main
from forum_runner.execute.drive import engine_guard
from forum_runner.execute.drive.engine_guard import EngineGuard
from forum_runner.execute.engines import local
from forum_runner.execute.engines.local import LocalEngine
from forum_runner.execute.machine import Lost, Replied
from forum_runner.execute.machine.reply_parser import ReplyFailure

LIMITS = Limits(timeout_ms=60_000, max_output_bytes=10)
ATTEMPT = Attempt("run/1", "run", "task", 1, "own", {}, Prompt(text="do it"), LIMITS, agent="worker")


class CustomAdapter:
    """A third-party adapter that returns `result`, or the result of calling it."""

    def __init__(self, result: Any) -> None:
        self._gives = result

    async def answer(self, attempt: Attempt) -> Any:
        return await self._gives(attempt) if callable(self._gives) else self._gives

    async def probe(self) -> str | None:
        return None

    async def close(self) -> None:
        raise RuntimeError("it cannot close")


def report_of(result: Any, *, is_cancelled: bool = False) -> Replied | Lost:
    async def report() -> Replied | Lost:
        def make(_name: str, _settings: Mapping[str, Any]) -> Any:
            return CustomAdapter(result)

        engine, woken = EngineGuard(LocalEngine(make)), asyncio.Event()
        engine.attach(woken.set)
        engine.begin(ATTEMPT)
        await asyncio.sleep(0)
        if is_cancelled:
            engine.cancel(ATTEMPT.id)
        await woken.wait()
        reports = engine.reports()
        await engine.close()
        assert len(reports) == 1
        return reports[0]

    return asyncio.run(report())


def failure_of(result: Any) -> Failure | None:
    report = report_of(result)
    assert isinstance(report, Replied)
    return report.reply.failure


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "the adapter returned a NoneType instead of a Reply"),
        (Reply("text"), "the adapter returned a Reply whose content or stderr is not bytes"),  # type: ignore[arg-type]
        (
            Reply(failure=Failure("odd")),  # type: ignore[arg-type]
            "the adapter returned a Failure of the unknown kind 'odd'",
        ),
        (
            Reply(usage=Usage(-1)),
            "the adapter returned a usage that is not a Usage with token counts from 0 to 2^53 - 1",
        ),
        (Reply(exit_status=2**70), f"the adapter returned the invalid exit status {2**70}"),
        (Reply(exit_status=10**5_000), "the adapter returned a Reply that cannot be read"),
        (Reply(failure=Failure.__new__(Failure)), "the adapter returned a Reply that cannot be read"),
        (
            Reply(failure=ReplyFailure(ErrorKind.MALFORMED, code=object())),  # type: ignore[arg-type]
            "the adapter returned a ReplyFailure instead of a Failure",
        ),
        (Reply(executable="/bin/true"), "the adapter returned a str instead of an Executable"),  # type: ignore[arg-type]
    ],
)
def test_an_invalid_reply_is_a_failure_of_the_adapter(result: Any, message: str) -> None:
    assert failure_of(result) == Failure(ErrorKind.INTERNAL, message)


@pytest.mark.parametrize(
    ("path", "digest"),
    [("/x", "not-a-digest"), ("/x", "A" * 64), ("/x", "a" * 64 + "\n"), ("/x", "a" * 70_000), ("/x", 7), (5, "a" * 64)],
)
def test_an_executable_that_cannot_be_recorded_is_a_failure_of_the_adapter(path: Any, digest: Any) -> None:
    message = "the adapter returned an Executable without a path or the SHA-256 digest of its bytes"

    assert failure_of(Reply(b"ok", executable=Executable(path, digest))) == Failure(ErrorKind.INTERNAL, message)


def test_an_executable_may_have_any_path() -> None:
    reply = Reply(b"ok", executable=Executable("\0\udcff" + "x" * 100_000, "a" * 64))

    assert report_of(reply) == Replied("run/1", reply)


def test_an_exception_is_a_failure_of_the_adapter() -> None:
    async def fails(_attempt: Attempt) -> Reply:
        raise ValueError("no")

    assert failure_of(fails) == Failure(ErrorKind.INTERNAL, "the adapter failed: ValueError: no")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SystemExit(3), "the adapter failed: SystemExit: 3"),
        (KeyboardInterrupt(), "the adapter failed: KeyboardInterrupt: "),
        (GeneratorExit(), "the adapter failed: GeneratorExit: "),
        (BaseException("odd"), "the adapter failed: BaseException: odd"),
    ],
)
def test_an_exception_that_would_end_the_process_is_a_failure_of_the_adapter(
    error: BaseException, message: str
) -> None:
    async def fails(_attempt: Attempt) -> Reply:
        raise error

    assert failure_of(fails) == Failure(ErrorKind.INTERNAL, message)


def test_an_answer_over_the_limit_is_truncated() -> None:
    report = report_of(Reply(b"0123456789ABC"))

    assert isinstance(report, Replied)
    assert report.reply.content == b"0123456789"
    assert report.reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the answer has more than 10 bytes")


def test_a_cancelled_call_is_reported_as_cancelled() -> None:
    async def waits(_attempt: Attempt) -> Reply:
        await asyncio.sleep(3_600)
        return Reply()

    report = report_of(waits, is_cancelled=True)

    assert report == Replied("run/1", Reply(failure=Failure(ErrorKind.CANCELLED, "the call was cancelled")))


def test_an_adapter_that_cancels_itself_fails() -> None:
    async def cancels(_attempt: Attempt) -> Reply:
        raise asyncio.CancelledError

    assert failure_of(cancels) == Failure(ErrorKind.INTERNAL, "the adapter cancelled itself")


def test_a_call_that_ignores_cancellation_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_guard, "_CANCEL_PATIENCE_S", 0.05)

    async def swallows(_attempt: Attempt) -> Reply:
        for _ in range(3):
            try:
                await asyncio.sleep(0.5)
            except asyncio.CancelledError:
                continue
        return Reply(b"late")

    assert report_of(swallows, is_cancelled=True) == Lost("run/1")


def test_each_call_whose_adapter_ignores_its_timeout_ends_at_its_own_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_guard, "_TIMEOUT_GRACE_S", 0.0)

    async def sleeps(attempt: Attempt) -> Reply:
        await asyncio.sleep(0 if attempt.task == "quick" else 60)
        return Reply(b"done")

    async def run() -> list[Replied | Lost]:
        engine, woken = EngineGuard(LocalEngine(lambda _name, _settings: CustomAdapter(sleeps))), asyncio.Event()
        engine.attach(woken.set)
        # The call that times out first starts last, so the watchdog has to wake earlier than it planned.
        for task, timeout_ms in (("slow", 200), ("quick", 20), ("slower", 400), ("first", 100)):
            limits = structs.replace(LIMITS, timeout_ms=timeout_ms)
            engine.begin(structs.replace(ATTEMPT, id=f"run/{task}", task=task, limits=limits))
        reports: list[Replied | Lost] = []
        while len(reports) < 4:
            await woken.wait()
            woken.clear()
            reports += engine.reports()
        await engine.close()
        return reports

    too_long = Reply(failure=Failure(ErrorKind.TIMEOUT, "the call exceeded its timeout"))
    assert asyncio.run(run()) == [
        Replied("run/quick", Reply(b"done")),
        Replied("run/first", too_long),
        Replied("run/slow", too_long),
        Replied("run/slower", too_long),
    ]


def test_an_adapter_that_does_not_close_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_CLOSE_PATIENCE_S", 0.05)

    class NeverClosing(CustomAdapter):
        async def close(self) -> None:
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(3_600)

    async def run() -> list[Replied | Lost]:
        engine, woken = EngineGuard(LocalEngine(lambda _name, _settings: NeverClosing(Reply(b"done")))), asyncio.Event()
        engine.attach(woken.set)
        engine.begin(ATTEMPT)
        await woken.wait()
        await engine.close()
        return engine.reports()

    assert run_main(run()) == [Replied("run/1", Reply(b"done"))]
