"""The `process` engine: an adapter in a worker cannot harm other calls and leaves no process behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from acceptance.workflow_folder import processes_with
from engines.adapter_plugins import install_adapters
from forum_adapters.base import Attempt, ErrorKind, Failure, Limits, Prompt, Reply
from forum_runner.execute.call_report import Lost, Replied
from forum_runner.execute.drive.engine_guard import EngineGuard
from forum_runner.execute.engines import process
from forum_runner.execute.engines.process import ProcessEngine

MARK = "ODD_ADAPTER_TEST"
WORKER = b"forum_runner.execute.engines.worker"
LIMITS = Limits(timeout_ms=60_000, max_output_bytes=1_000_000)
FAULTY = {"type": "x-faulty"}
DONE = Reply(b"done")
# It does not fit into the buffer of a socket.
LARGE_CALL = "succeed" + " " * 10_000_000
CANCELLED = Reply(failure=Failure(ErrorKind.CANCELLED, "the call was cancelled"))


@pytest.fixture(autouse=True)
def adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the test adapters, and set a variable that every process of a worker inherits."""
    install_adapters(tmp_path / "packages", monkeypatch)
    monkeypatch.setenv(MARK, str(tmp_path))


def attempt(id_: str, text: str, settings: Mapping[str, Any] = FAULTY) -> Attempt:
    return Attempt(id_, "run", "task", 1, "faulty", settings, Prompt(text=text), LIMITS, agent="worker")


class Calls:
    """The calls of one engine and their reports."""

    def __init__(self) -> None:
        self.reports: dict[str, Replied | Lost] = {}
        self._engine = EngineGuard(ProcessEngine())
        self._woken = asyncio.Event()
        self._engine.attach(self._woken.set)

    def begin(self, *texts: str, settings: Mapping[str, Any] = FAULTY) -> None:
        for text in texts:
            self._engine.begin(attempt(text, text, settings))

    def cancel(self, text: str) -> None:
        self._engine.cancel(text)

    async def wait_for(self, *texts: str) -> list[Reply | None]:
        """Return the replies in order, with None for a lost call."""
        while not self.reports.keys() >= set(texts):
            await self._woken.wait()
            self._woken.clear()
            self.reports |= {report.call: report for report in self._engine.reports()}
        reports = [self.reports[text] for text in texts]
        return [report.reply if isinstance(report, Replied) else None for report in reports]

    async def call(self, text: str, settings: Mapping[str, Any] = FAULTY) -> Reply | None:
        self.reports.pop(text, None)
        self.begin(text, settings=settings)
        return (await self.wait_for(text))[0]

    async def close(self) -> None:
        await self._engine.close()


def with_calls(use: Callable[[Calls], Any]) -> Any:
    async def run() -> Any:
        calls = Calls()
        try:
            return await use(calls)
        finally:
            await calls.close()

    result = asyncio.run(run())
    assert marked_processes() == []
    return result


def marked_processes() -> list[int]:
    return processes_with(os.environ[MARK])


def command_of(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def state_of(pid: int) -> str:
    """Return the state letter of a process, or an empty string if it does not exist."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0]
    return ""


def test_calls_run_side_by_side_and_workers_are_reused() -> None:
    async def use(calls: Calls) -> tuple[list[Reply | None], set[bytes]]:
        slow = [f"succeed 0.{number}" for number in range(1, 4)]
        calls.begin(*slow, "block 0.5")
        replies = await calls.wait_for(*slow, "block 0.5")
        return replies, {reply.content for _ in range(5) if (reply := await calls.call("return_pid")) is not None}

    replies, pids = with_calls(use)
    assert replies == [DONE] * 4
    assert len(pids) == 1


def test_a_worker_is_replaced_after_a_number_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_CALLS_PER_WORKER", 2)

    async def use(calls: Calls) -> list[Any]:
        await calls.call("leak_thread")
        return [await calls.call("return_pid") for _ in range(4)]

    first, second, third, fourth = with_calls(use)
    assert first != second == third != fourth


@pytest.mark.parametrize("behavior", ["crash", "exit_immediately", "write_garbage", "fork_and_crash"])
def test_a_call_whose_worker_breaks_is_lost_and_other_calls_succeed(behavior: str) -> None:
    async def use(calls: Calls) -> list[Reply | None]:
        calls.begin("succeed 0.5", behavior)
        replies = await calls.wait_for(behavior, "succeed 0.5")
        return [*replies, await calls.call("succeed")]

    assert with_calls(use) == [None, DONE, DONE]


async def break_idle_worker(calls: Calls, behavior: str, acted: Path) -> int:
    """Make a call whose adapter breaks the worker after its reply. Return the pid of the worker once it is broken."""
    reply = await calls.call(behavior, FAULTY | {"acted": str(acted)})
    assert reply is not None
    pid = int(reply.content)
    while not acted.exists() and state_of(pid) not in {"T", "Z", ""}:
        await asyncio.sleep(0.01)
    return pid


@pytest.mark.parametrize(
    "behavior", ["crash_later", "fork_and_crash_later", "write_garbage_later", "write_reply_later"]
)
def test_a_worker_that_breaks_while_it_is_idle_is_replaced(behavior: str, tmp_path: Path) -> None:
    async def use(calls: Calls) -> tuple[int, Reply | None, Reply | None]:
        broken_pid = await break_idle_worker(calls, behavior, tmp_path / "acted")
        return broken_pid, await calls.call("return_pid"), await calls.call("succeed")

    broken_pid, second, third = with_calls(use)
    assert second is not None
    assert int(second.content) != broken_pid
    assert third == DONE


@pytest.mark.parametrize("behavior", ["crash_later", "write_garbage_later"])
def test_closing_the_engine_ends_a_worker_that_broke_while_it_was_idle(
    behavior: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with_calls(lambda calls: break_idle_worker(calls, behavior, tmp_path / "acted"))

    assert caplog.messages == []


def test_a_message_that_an_adapter_sends_after_its_reply_is_not_the_reply_of_the_next_call(tmp_path: Path) -> None:
    async def use(calls: Calls) -> Reply | None:
        await calls.call("write_reply_later", FAULTY | {"acted": str(tmp_path / "acted")})
        return await calls.call("succeed 0.5")

    assert with_calls(use) == DONE


def test_a_call_that_its_worker_did_not_receive_is_not_lost(tmp_path: Path) -> None:
    async def use(calls: Calls) -> list[Reply | None]:
        pid = await break_idle_worker(calls, "stop_later", tmp_path / "acted")
        calls.begin(LARGE_CALL)
        await asyncio.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
        return await calls.wait_for(LARGE_CALL)

    failure = Failure(ErrorKind.TOOL_FAILURE, "the worker process did not receive the call")
    assert with_calls(use) == [Reply(failure=failure)]


def test_a_call_that_its_worker_did_not_receive_can_be_cancelled(tmp_path: Path) -> None:
    async def use(calls: Calls) -> list[Reply | None]:
        await break_idle_worker(calls, "stop_later", tmp_path / "acted")
        calls.begin(LARGE_CALL)
        await asyncio.sleep(0.1)
        calls.cancel(LARGE_CALL)
        return await calls.wait_for(LARGE_CALL)

    assert with_calls(use) == [CANCELLED]


@pytest.mark.parametrize("behavior", ["leak_thread", "leak_memory", "leak_process", "fork_and_return"])
def test_threads_and_processes_leaked_by_an_adapter_end_with_its_worker(behavior: str) -> None:
    async def use(calls: Calls) -> list[Reply | None]:
        return [await calls.call(behavior), await calls.call("succeed")]

    assert with_calls(use)[1] == DONE


def test_a_blocked_worker_does_not_delay_others_and_is_killed_when_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "_CANCEL_PATIENCE_S", 0.3)

    async def use(calls: Calls) -> list[Reply | None]:
        stuck = ["block", "block_ignoring_sigterm", "ignore_cancellation"]
        calls.begin(*stuck)
        done = await calls.call("succeed")
        for call in stuck:
            calls.cancel(call)
        return [done, *await calls.wait_for(*stuck)]

    assert with_calls(use) == [DONE, CANCELLED, CANCELLED, CANCELLED]


def test_a_call_cancelled_before_its_worker_starts_is_reported_as_cancelled() -> None:
    async def use(calls: Calls) -> list[Reply | None]:
        calls.begin("succeed 1000", "succeed 2000")
        calls.cancel("succeed 1000")
        await asyncio.sleep(0)
        calls.cancel("succeed 2000")
        return await calls.wait_for("succeed 1000", "succeed 2000")

    assert with_calls(use) == [CANCELLED, CANCELLED]


def test_closing_the_engine_ends_running_calls() -> None:
    started_s = time.monotonic()

    async def use(calls: Calls) -> Any:
        calls.begin("block", "ignore_cancellation", "succeed 1000")
        return await calls.call("succeed")

    assert with_calls(use) == DONE
    assert time.monotonic() - started_s < 30


def test_closing_the_engine_closes_its_adapters(tmp_path: Path) -> None:
    closed = tmp_path / "closed"

    with_calls(lambda calls: calls.call("succeed", {"type": "x-faulty", "closed": str(closed)}))

    assert closed.read_text(encoding="utf-8") == "closed\n"


def test_credentials_reach_adapters_through_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTY_KEY", "open sesame")

    assert with_calls(lambda calls: calls.call("return_variable FAULTY_KEY")) == Reply(b"open sesame")


def test_output_of_workers_does_not_reach_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    assert with_calls(lambda calls: calls.call("print_output")) == DONE
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("behavior", "message"),
    [
        ("raise_system_exit", "the adapter failed: SystemExit: 3"),
        ("return_wrong_type", "the adapter returned a Reply whose content or stderr is not bytes"),
        ("return_unencodable_model", "the adapter failed: UnicodeEncodeError"),
        ("unknown", "the adapter failed: AttributeError"),
    ],
)
def test_failures_match_the_local_engine(behavior: str, message: str) -> None:
    reply = with_calls(lambda calls: calls.call(behavior))

    assert reply.failure.kind is ErrorKind.INTERNAL
    assert reply.failure.message.startswith(message)


def test_a_large_answer_is_truncated_in_the_worker() -> None:
    reply = with_calls(lambda calls: calls.call("return_zeros 50000000"))

    assert len(reply.content) == LIMITS.max_output_bytes
    assert reply.failure.kind is ErrorKind.OUTPUT_LIMIT


def test_a_worker_that_cannot_start_is_a_retryable_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")

    reply = with_calls(lambda calls: calls.call("succeed"))

    assert reply.failure.kind is ErrorKind.TOOL_FAILURE


def test_workers_and_their_child_processes_end_with_the_runner(tmp_path: Path) -> None:
    program = (
        "import asyncio\n"
        "from unit.runner.execute.test_process_engine import Calls\n"
        "async def main():\n"
        "    calls = Calls()\n"
        f"    calls.begin('leak_process', 'block', 'block_ignoring_sigterm', settings={FAULTY!r})\n"
        "    await calls.wait_for('leak_process')\n"
        "    print('ready', flush=True)\n"
        "    await asyncio.sleep(1000)\n"
        "asyncio.run(main())\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "packages"), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as runner:
        try:
            assert runner.stdout is not None
            assert runner.stdout.readline() == b"ready\n"
            assert len([pid for pid in marked_processes() if WORKER in command_of(pid)]) == 3
        finally:
            runner.kill()

    deadline_s = time.monotonic() + 30
    while (remaining := marked_processes()) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert remaining == []
