"""The engine guard: each attempt gets exactly one checked report, whatever the engine does."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from forum_adapters.base import Attempt, ErrorKind, Failure, Limits, Prompt, Reply
from forum_runner.execute.drive import engine_guard
from forum_runner.execute.drive.engine_guard import EngineGuard
from forum_runner.execute.machine import Lost, Replied

LIMITS = Limits(timeout_ms=60_000, max_output_bytes=10)
ATTEMPT = Attempt("run/1", "run", "task", 1, "own", {}, Prompt(text="do it"), LIMITS, agent="worker")
DONE = Replied("run/1", Reply(b"done"))


ERRORS = [ValueError, SystemExit, GeneratorExit, asyncio.CancelledError]


class TextlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it has no text")


class OddEngine:
    """Returns the given reports, and raises `error` in the method `fails_in`."""

    def __init__(self, *reports: Any, fails_in: str = "", error: type[BaseException] = ValueError) -> None:
        self._reports_to_send = reports
        self._fails_in = fails_in
        self._error = error
        self._reports: Any = []
        self._wake: Callable[[], None] = lambda: None

    def _step(self, name: str) -> None:
        if self._fails_in == name:
            raise self._error(name)

    def attach(self, wake: Callable[[], None]) -> None:
        self._step("attach")
        self._wake = wake

    def begin(self, attempt: Attempt) -> None:
        self._step("begin")
        assert attempt == ATTEMPT
        self._reports = list(self._reports_to_send)
        self._wake()

    def cancel(self, call: str) -> None:
        self._step("cancel")
        assert call == ATTEMPT.id

    def reports(self) -> Any:
        self._step("reports")
        reports, self._reports = self._reports, []
        return reports

    async def close(self) -> None:
        self._step("close")


def reports_of(engine: OddEngine, *, is_cancelled: bool = False) -> list[Replied | Lost]:
    async def run() -> list[Replied | Lost]:
        guard, woken = EngineGuard(engine), asyncio.Event()
        guard.attach(woken.set)
        guard.begin(ATTEMPT)
        if is_cancelled:
            guard.cancel(ATTEMPT.id)
        reports = guard.reports()
        while not reports:
            await woken.wait()
            woken.clear()
            reports = guard.reports()
        reports += guard.reports()
        await guard.close()
        return reports

    return asyncio.run(run())


@pytest.mark.parametrize(
    "reports",
    [
        [DONE],
        [DONE, DONE, Lost("run/1")],
        [Replied("run/2", Reply(b"other")), DONE],
        [None, "run/1", Replied(["run/1"], Reply()), Lost(1), DONE],  # type: ignore[arg-type]
    ],
)
def test_only_the_first_report_about_a_call_counts(reports: list[Any]) -> None:
    assert reports_of(OddEngine(*reports)) == [DONE]


def test_a_reply_from_any_engine_is_checked() -> None:
    reports = reports_of(OddEngine(Replied("run/1", "text")))  # type: ignore[arg-type]

    failure = Failure(ErrorKind.INTERNAL, "the adapter returned a str instead of a Reply")
    assert reports == [Replied("run/1", Reply(failure=failure))]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("method", ["attach", "begin"])
def test_an_attempt_that_the_engine_cannot_start_fails(method: str, error: type[BaseException]) -> None:
    reports = reports_of(OddEngine(DONE, fails_in=method, error=error))

    failure = Failure(ErrorKind.INTERNAL, f"the engine failed: {error.__name__}: {method}")
    assert reports == [Replied("run/1", Reply(failure=failure))]


def test_an_attempt_fails_even_if_the_error_of_the_engine_has_no_text() -> None:
    reports = reports_of(OddEngine(DONE, fails_in="begin", error=TextlessError))

    failure = Failure(ErrorKind.INTERNAL, "the engine failed: TextlessError")
    assert reports == [Replied("run/1", Reply(failure=failure))]


@pytest.mark.parametrize("error", ERRORS)
def test_calls_are_lost_when_the_engine_cannot_report_them(error: type[BaseException]) -> None:
    assert reports_of(OddEngine(DONE, fails_in="reports", error=error)) == [Lost("run/1")]


def test_an_interrupt_in_the_engine_reaches_the_caller() -> None:
    with pytest.raises(KeyboardInterrupt):
        reports_of(OddEngine(DONE, fails_in="begin", error=KeyboardInterrupt))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fails_in", ["", "cancel"])
def test_a_cancelled_call_without_a_report_is_lost(
    fails_in: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_guard, "_CANCEL_PATIENCE_S", 0.02)

    assert reports_of(OddEngine(fails_in=fails_in, error=error), is_cancelled=True) == [Lost("run/1")]


def test_a_call_that_the_engine_forgets_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_guard, "_TIMEOUT_GRACE_S", -60.0)
    monkeypatch.setattr(engine_guard, "_CANCEL_PATIENCE_S", 0.02)

    assert reports_of(OddEngine()) == [Lost("run/1")]


@pytest.mark.parametrize("error", ERRORS)
def test_an_engine_that_fails_to_close_does_not_affect_the_run(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    assert reports_of(OddEngine(DONE, fails_in="close", error=error)) == [DONE]
    assert caplog.messages == []
