"""An attempt leaves no process running, whatever a program does to escape."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from forum_adapters import command
from forum_adapters.base import Attempt, ErrorKind, Reply
from forum_adapters.command import CommandAdapter
from unit.adapters.command_programs import (
    PATIENCE_S,
    WITH_PATH,
    attempt,
    new_mark,
    python,
    reply_to,
    reply_while_stdout_is_held,
    running_processes,
    shell,
    wait_for_file,
    wait_until_ended,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="on other systems, only the process group is terminated"
)

# Each program creates the file `ready` once it has escaped. `sys.argv[1]` is a mark that its forks inherit.
PRELUDE = """
import os, pathlib, signal, sys, time

def ready():
    pathlib.Path("ready").touch()

def sleep_forever():
    while True:
        time.sleep(600)

def fork_and_exit_parent():
    if os.fork():
        os._exit(0)

def close_files():
    for fd in range(3):
        os.close(fd)
"""
OWN_SESSION = "if os.fork(): sleep_forever()\nos.setsid(); ready(); sleep_forever()"
DOUBLE_FORK = """
if os.fork(): sleep_forever()
fork_and_exit_parent(); os.setsid(); fork_and_exit_parent(); close_files(); ready(); sleep_forever()
"""
WITHOUT_ENVIRONMENT = """
if os.fork(): sleep_forever()
fork_and_exit_parent(); os.setsid(); fork_and_exit_parent(); close_files()
again = "import pathlib, time; pathlib.Path('ready').touch(); time.sleep(600)"
os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", again, sys.argv[1]], {})
"""
IGNORES_SIGTERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork(); ready(); sleep_forever()"
PARENT_EXITED = "if os.fork(): sleep_forever()\nif os.fork(): os._exit(1)\nready(); sleep_forever()"
MANY_FORKS = "[os.fork() for _ in range(5)]; ready(); sleep_forever()"
# Forks at each SIGTERM, so that processes appear while the tree is being terminated.
FORKS_AT_SIGTERM = "signal.signal(signal.SIGTERM, lambda *_: os.fork()); ready(); sleep_forever()"
# Constantly changes its process id and its process group.
FORKS_FOREVER = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork(): sleep_forever()
ready()
while True:
    fork_and_exit_parent()
    os.setsid()
"""
START_DAEMON = """
if not os.fork():
    fork_and_exit_parent(); os.setsid(); fork_and_exit_parent(); close_files(); ready(); sleep_forever()
while not os.path.exists("ready"):
    time.sleep(0.01)
"""
EVADERS = {
    name: globals()[name]
    for name in (
        "OWN_SESSION",
        "DOUBLE_FORK",
        "WITHOUT_ENVIRONMENT",
        "IGNORES_SIGTERM",
        "PARENT_EXITED",
        "MANY_FORKS",
        "FORKS_AT_SIGTERM",
        "FORKS_FOREVER",
    )
}


@pytest.fixture(autouse=True)
def short_grace_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TERM_GRACE_S", 0.3)
    monkeypatch.setattr(command, "STRAY_GRACE_S", 0.1)


def cancel_when_ready(request: Attempt) -> None:
    async def ask() -> None:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(request))
        await wait_for_file(Path(request.site.workspace, "ready"))
        task.cancel()
        reply = await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
        assert reply.failure is not None and reply.failure.kind is ErrorKind.CANCELLED
        assert running_processes(request.prompt.argv[-1]) == []
        await adapter.close()

    asyncio.run(ask())


@pytest.mark.parametrize("evader", EVADERS.values(), ids=EVADERS.keys())
def test_a_cancelled_attempt_leaves_no_process_running(tmp_path: Path, evader: str) -> None:
    cancel_when_ready(attempt(*python(PRELUDE + evader, new_mark()), workspace=tmp_path))


def test_an_attempt_that_exceeds_its_limit_leaves_no_process_running(tmp_path: Path) -> None:
    mark = new_mark()
    code = PRELUDE + START_DAEMON + "print('more than nothing', flush=True); sleep_forever()"

    reply = reply_to(attempt(*python(code, mark), workspace=tmp_path, max_output_bytes=0))

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.OUTPUT_LIMIT
    assert running_processes(mark) == []


@pytest.mark.parametrize("status", [0, 3])
def test_a_daemon_without_open_files_is_terminated_with_its_program(tmp_path: Path, status: int) -> None:
    mark = new_mark()
    code = PRELUDE + START_DAEMON + f"print('over', flush=True); os._exit({status})"

    reply = reply_to(attempt(*python(code, mark), workspace=tmp_path))

    assert (reply.exit_status, reply.content) == (status, b"over\n")
    assert running_processes(mark) == []


def test_a_background_child_that_holds_stdout_does_not_block_the_attempt() -> None:
    mark = new_mark()

    reply = reply_to(attempt(*shell('sh -c "sleep 600; :" "$1" & echo over', mark)))

    assert (reply.failure, reply.content) == (None, b"over\n")
    assert running_processes(mark) == []


def test_a_background_child_may_write_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "STRAY_GRACE_S", PATIENCE_S)

    reply = reply_to(attempt(*shell("(sleep 0.2; echo last) & echo first")))

    assert (reply.failure, reply.content) == (None, b"first\nlast\n")


def test_an_unrelated_process_that_holds_stdout_does_not_block_the_attempt(tmp_path: Path) -> None:
    reply = reply_while_stdout_is_held(tmp_path)

    assert (reply.failure, reply.content) == (None, b"over\n")


def test_a_second_cancel_kills_the_program_immediately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TERM_GRACE_S", 2 * PATIENCE_S)
    request = attempt(*python(PRELUDE + IGNORES_SIGTERM, new_mark()), workspace=tmp_path)

    async def ask() -> Reply:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(request))
        await wait_for_file(tmp_path / "ready")
        task.cancel()
        await asyncio.sleep(0.1)
        task.cancel()
        reply = await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
        await adapter.close()
        return reply

    reply = asyncio.run(ask())

    assert reply.failure is not None and reply.failure.kind is ErrorKind.CANCELLED
    assert reply.exit_status == -signal.SIGKILL
    assert running_processes(request.prompt.argv[-1]) == []


def test_repeated_cancels_are_harmless(tmp_path: Path) -> None:
    request = attempt(*python(PRELUDE + IGNORES_SIGTERM, new_mark()), workspace=tmp_path)

    async def ask() -> None:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(request))
        await wait_for_file(tmp_path / "ready")
        while not task.done():
            task.cancel()
            await asyncio.sleep(0.01)
        assert task.result().failure is not None
        assert running_processes(request.prompt.argv[-1]) == []
        await adapter.close()

    asyncio.run(asyncio.wait_for(ask(), PATIENCE_S))


def test_an_attempt_cancelled_before_it_starts_runs_nothing(tmp_path: Path) -> None:
    async def ask() -> None:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(attempt(*shell("touch ran"), workspace=tmp_path)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await adapter.close()

    asyncio.run(ask())

    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_attempt_does_not_disturb_other_attempts() -> None:
    async def ask() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        cancelled = asyncio.create_task(adapter.answer(attempt(*shell("sleep 600"))))
        requests = [attempt(*shell(f"sleep 0.3; echo {n}")) for n in range(4)]
        others = [asyncio.create_task(adapter.answer(request)) for request in requests]
        await adapter.answer(attempt("true"))
        cancelled.cancel()
        replies = await asyncio.wait_for(asyncio.gather(*others), PATIENCE_S)
        replies.append(await adapter.answer(attempt("echo", "after")))
        await adapter.close()
        return replies

    assert [reply.content for reply in asyncio.run(ask())] == [b"0\n", b"1\n", b"2\n", b"3\n", b"after\n"]


def test_closing_the_adapter_terminates_running_programs(tmp_path: Path) -> None:
    mark = new_mark()

    async def ask() -> Reply:
        adapter = CommandAdapter("shell", WITH_PATH)
        request = attempt(*python(PRELUDE + DOUBLE_FORK, mark), workspace=tmp_path)
        task = asyncio.create_task(adapter.answer(request))
        await wait_for_file(tmp_path / "ready")
        await asyncio.wait_for(adapter.close(), PATIENCE_S)
        assert running_processes(mark) == []
        return await task

    reply = asyncio.run(ask())

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.CANCELLED


def test_a_process_that_cannot_be_terminated_is_reported_and_killed_on_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TERM_GRACE_S", 0)
    monkeypatch.setattr(command, "KILL_PATIENCE_S", 0)
    mark = new_mark()
    code = PRELUDE + "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); sleep_forever()"

    reply = reply_to(attempt(*python(code, mark), max_output_bytes=0))

    assert reply.stderr == b"\n[a process that this program started could not be ended]\n"
    wait_until_ended(mark)
