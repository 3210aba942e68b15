"""Nothing is left running behind an attempt, whatever a program does to get away."""

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
    appearance,
    attempt,
    await_end,
    new_mark,
    python,
    reply_to,
    reply_while_stdout_is_held,
    running,
    shell,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a tree is no more than a process group")

# Each leaves a file `ready` when it is where it wants to be. `sys.argv[1]` is a mark; forks have it too.
PRELUDE = """
import os, pathlib, signal, sys, time

def ready():
    pathlib.Path("ready").touch()

def rest():
    while True:
        time.sleep(600)

def fork_and_leave():
    if os.fork():
        os._exit(0)

def quiet():
    for file in range(3):
        os.close(file)
"""
IN_A_SESSION_OF_ITS_OWN = "if os.fork(): rest()\nos.setsid(); ready(); rest()"
TWICE_FORKED = "if os.fork(): rest()\nfork_and_leave(); os.setsid(); fork_and_leave(); quiet(); ready(); rest()"
WITHOUT_ENVIRONMENT = """
if os.fork(): rest()
fork_and_leave(); os.setsid(); fork_and_leave(); quiet()
again = "import pathlib, time; pathlib.Path('ready').touch(); time.sleep(600)"
os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", again, sys.argv[1]], {})
"""
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork(); ready(); rest()"
PARENT_DIED = "if os.fork(): rest()\nif os.fork(): os._exit(1)\nready(); rest()"
MANY = "[os.fork() for _ in range(5)]; ready(); rest()"
# Forks at SIGTERM, again and again, so that somebody is always being born while the tree is ended.
BREEDING = "signal.signal(signal.SIGTERM, lambda *_: os.fork()); ready(); rest()"
# Never two moments the same process, nor the same group.
RUNNING_AWAY = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork(): rest()
ready()
while True:
    fork_and_leave()
    os.setsid()
"""
AFTER_A_DAEMON = """
if not os.fork():
    fork_and_leave(); os.setsid(); fork_and_leave(); quiet(); ready(); rest()
while not os.path.exists("ready"):
    time.sleep(0.01)
"""
EVADERS = {
    name: globals()[name]
    for name in (
        "IN_A_SESSION_OF_ITS_OWN TWICE_FORKED WITHOUT_ENVIRONMENT DEAF PARENT_DIED MANY BREEDING RUNNING_AWAY"
    ).split()
}


@pytest.fixture(autouse=True)
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TERM_GRACE_S", 0.3)
    monkeypatch.setattr(command, "LEFT_BEHIND_GRACE_S", 0.1)


def cancel_when_ready(asked: Attempt) -> None:
    async def ask() -> None:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(asked))
        await appearance(Path(asked.site.workspace, "ready"))
        task.cancel()
        reply = await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
        assert reply.failure is not None and reply.failure.kind is ErrorKind.CANCELLED
        assert running(asked.prompt.argv[-1]) == []
        await adapter.close()

    asyncio.run(ask())


@pytest.mark.parametrize("evader", EVADERS.values(), ids=EVADERS.keys())
def test_a_cancelled_attempt_leaves_nobody_running(tmp_path: Path, evader: str) -> None:
    cancel_when_ready(attempt(*python(PRELUDE + evader, new_mark()), workspace=tmp_path))


def test_an_attempt_over_its_limit_leaves_nobody_running(tmp_path: Path) -> None:
    mark = new_mark()
    code = PRELUDE + AFTER_A_DAEMON + "print('more than nothing', flush=True); rest()"

    reply = reply_to(attempt(*python(code, mark), workspace=tmp_path, max_output_bytes=0))

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.OUTPUT_LIMIT
    assert running(mark) == []


@pytest.mark.parametrize("status", [0, 3])
def test_a_daemon_that_closed_everything_is_ended_with_its_program(tmp_path: Path, status: int) -> None:
    mark = new_mark()
    code = PRELUDE + AFTER_A_DAEMON + f"print('over', flush=True); os._exit({status})"

    reply = reply_to(attempt(*python(code, mark), workspace=tmp_path))

    assert (reply.exit_status, reply.content) == (status, b"over\n")
    assert running(mark) == []


def test_a_child_in_the_background_that_holds_stdout_does_not_hang_the_attempt() -> None:
    mark = new_mark()

    reply = reply_to(attempt(*shell('sh -c "sleep 600; :" "$1" & echo over', mark)))

    assert (reply.failure, reply.content) == (None, b"over\n")
    assert running(mark) == []


def test_a_child_in_the_background_may_say_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LEFT_BEHIND_GRACE_S", PATIENCE_S)

    reply = reply_to(attempt(*shell("(sleep 0.2; echo last) & echo first")))

    assert (reply.failure, reply.content) == (None, b"first\nlast\n")


def test_somebody_else_who_holds_stdout_does_not_hang_the_attempt(tmp_path: Path) -> None:
    reply = reply_while_stdout_is_held(tmp_path)

    assert (reply.failure, reply.content) == (None, b"over\n")


def test_who_is_cancelled_a_second_time_is_ended_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TERM_GRACE_S", 2 * PATIENCE_S)
    asked = attempt(*python(PRELUDE + DEAF, new_mark()), workspace=tmp_path)

    async def ask() -> Reply:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(asked))
        await appearance(tmp_path / "ready")
        task.cancel()
        await asyncio.sleep(0.1)
        task.cancel()
        reply = await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
        await adapter.close()
        return reply

    reply = asyncio.run(ask())

    assert reply.failure is not None and reply.failure.kind is ErrorKind.CANCELLED
    assert reply.exit_status == -signal.SIGKILL
    assert running(asked.prompt.argv[-1]) == []


def test_being_cancelled_again_and_again_changes_nothing(tmp_path: Path) -> None:
    asked = attempt(*python(PRELUDE + DEAF, new_mark()), workspace=tmp_path)

    async def ask() -> None:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(asked))
        await appearance(tmp_path / "ready")
        while not task.done():
            task.cancel()
            await asyncio.sleep(0.01)
        assert task.result().failure is not None
        assert running(asked.prompt.argv[-1]) == []
        await adapter.close()

    asyncio.run(asyncio.wait_for(ask(), PATIENCE_S))


def test_an_attempt_that_is_cancelled_before_it_began_starts_nothing(tmp_path: Path) -> None:
    async def ask() -> None:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(attempt(*shell("touch ran"), workspace=tmp_path)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await adapter.close()

    asyncio.run(ask())

    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_attempt_does_not_disturb_its_neighbours() -> None:
    async def ask() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        doomed = asyncio.create_task(adapter.answer(attempt(*shell("sleep 600"))))
        asked = [attempt(*shell(f"sleep 0.3; echo {n}")) for n in range(4)]
        others = [asyncio.create_task(adapter.answer(each)) for each in asked]
        await adapter.answer(attempt("true"))
        doomed.cancel()
        replies = await asyncio.wait_for(asyncio.gather(*others), PATIENCE_S)
        replies.append(await adapter.answer(attempt("echo", "after")))
        await adapter.close()
        return replies

    assert [reply.content for reply in asyncio.run(ask())] == [b"0\n", b"1\n", b"2\n", b"3\n", b"after\n"]


def test_closing_ends_what_is_still_running(tmp_path: Path) -> None:
    mark = new_mark()

    async def ask() -> Reply:
        adapter = CommandAdapter("shell", WITH_PATH)
        asked = attempt(*python(PRELUDE + TWICE_FORKED, mark), workspace=tmp_path)
        task = asyncio.create_task(adapter.answer(asked))
        await appearance(tmp_path / "ready")
        await asyncio.wait_for(adapter.close(), PATIENCE_S)
        assert running(mark) == []
        return await task

    reply = asyncio.run(ask())

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.CANCELLED


def test_whom_it_could_not_end_it_names_and_tries_again_at_its_own_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TERM_GRACE_S", 0)
    monkeypatch.setattr(command, "KILL_PATIENCE_S", 0)
    mark = new_mark()
    code = PRELUDE + "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); rest()"

    reply = reply_to(attempt(*python(code, mark), max_output_bytes=0))

    assert reply.stderr == b"\n[something that this program started could not be ended]\n"
    await_end(mark)
