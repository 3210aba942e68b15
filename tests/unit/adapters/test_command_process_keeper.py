"""The keeper and the wardens between adapter and program survive disturbances and leave no process running."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forum_adapters.base import ErrorKind, Failure, Reply
from forum_adapters.command import CommandAdapter
from unit.adapters.command_programs import (
    PATIENCE_S,
    WITH_PATH,
    attempt,
    new_mark,
    python,
    reply_to,
    running_processes,
    shell,
    wait_until_ended,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

ROOT = Path(__file__).parents[3]
PRELUDE = """
import asyncio, os, signal, sys
from forum_adapters.command import CommandAdapter
from unit.adapters.command_programs import WITH_PATH, attempt, shell

"""


def start_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a process that uses the adapter, with warnings as errors."""
    return subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", "-c", PRELUDE + code, *arguments],
        env={"PYTHONPATH": f"{ROOT / 'adapters'}:{ROOT / 'tests'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("signal_name", ["TERM", "INT", "HUP", "QUIT", "USR1", "ALRM", "STOP"])
def test_a_program_cannot_disturb_its_parent_with_a_signal(signal_name: str) -> None:
    reply = reply_to(attempt(*shell(f"kill -{signal_name} $PPID; echo done")))

    assert (reply.failure, reply.content) == (None, b"done\n")


def test_a_program_that_kills_its_parent_fails_and_is_terminated() -> None:
    mark = new_mark()

    async def ask() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        killer = shell("setsid sh -c 'sleep 600; :' $1 & kill -KILL $PPID; sleep 600", mark)
        replies = [await adapter.answer(attempt(*killer)), await adapter.answer(attempt("echo", "next"))]
        # The keeper terminates the leftover processes in the background.
        await asyncio.to_thread(wait_until_ended, mark)
        await adapter.close()
        return replies

    killed, next_reply = asyncio.run(asyncio.wait_for(ask(), PATIENCE_S))

    assert killed.failure == Failure(ErrorKind.TOOL_FAILURE, "lost track of '/bin/sh': its supervisor was killed")
    assert (next_reply.failure, next_reply.content) == (None, b"next\n")


def test_an_adapter_replaces_its_killed_processes() -> None:
    parents = "import os; w = os.getppid(); k = int(open(f'/proc/{w}/stat').read().split()[3])"

    async def ask() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        replies = [
            await adapter.answer(attempt(*python(f"{parents}; os.kill(k, 9); print('still here')"))),
            await adapter.answer(attempt(*python(f"{parents}; os.kill(w, 9); import time; time.sleep(600)"))),
            await adapter.answer(attempt("echo", "next")),
        ]
        await adapter.close()
        return replies

    replies = asyncio.run(asyncio.wait_for(ask(), PATIENCE_S))

    assert [reply.content for reply in replies] == [b"still here\n", b"", b"next\n"]


def test_a_warden_that_died_while_idle_is_replaced() -> None:
    async def ask() -> Reply:
        adapter = CommandAdapter("shell", WITH_PATH)
        warden = int((await adapter.answer(attempt(*shell("echo $PPID")))).content)
        os.kill(warden, signal.SIGKILL)
        while Path(f"/proc/{warden}").exists():
            await asyncio.sleep(0.01)
        reply = await adapter.answer(attempt("echo", "next"))
        await adapter.close()
        return reply

    reply = asyncio.run(asyncio.wait_for(ask(), PATIENCE_S))

    assert (reply.failure, reply.content) == (None, b"next\n")


def test_programs_end_when_the_adapters_process_is_killed() -> None:
    mark = new_mark()
    code = """
program = shell("setsid sh -c 'sleep 600; :' $1 & sleep 600", sys.argv[1])
asyncio.run(CommandAdapter("shell", WITH_PATH).answer(attempt(*program)))
"""
    process = start_python(code, mark)
    while len(running_processes(mark)) < 3:
        assert process.poll() is None

    process.kill()
    process.communicate()

    wait_until_ended(mark)


def test_an_adapter_that_is_not_closed_causes_no_warning() -> None:
    code = """
async def main():
    adapter = CommandAdapter("shell", WITH_PATH)
    replies = await asyncio.gather(*(adapter.answer(attempt(*shell("echo $PPID"))) for _ in range(3)))
    print(*(reply.content.decode().strip() for reply in replies))

asyncio.run(main())
"""
    process = start_python(code)

    stdout, stderr = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, stderr) == (0, "")
    assert len(set(stdout.split())) == 3


def test_a_fork_of_the_adapters_process_can_run_programs() -> None:
    code = """
adapter = CommandAdapter("shell", WITH_PATH)

def ask(word):
    return asyncio.run(adapter.answer(attempt("echo", word))).content.decode().strip()

print(ask("before"), flush=True)
child = os.fork()
print(ask("child" if child == 0 else "parent"), flush=True)
if child == 0:
    asyncio.run(adapter.close())
    os._exit(0)
os.waitpid(child, 0)
print(ask("after"), flush=True)
asyncio.run(adapter.close())
"""
    process = start_python(code)

    stdout, stderr = process.communicate(timeout=PATIENCE_S)

    assert stderr == ""
    assert sorted(stdout.split()) == ["after", "before", "child", "parent"]


def test_without_adopting_orphans_the_process_group_is_terminated() -> None:
    mark = new_mark()
    code = """
from forum_adapters.programs.process_tree import ProcessTree, Wakeup
wakeup = Wakeup()
argv = shell("trap '' TERM; sh -c 'echo ready; sleep 600; :' $1 & wait", sys.argv[1])
source, sink = os.pipe()
actions = [(os.POSIX_SPAWN_DUP2, sink, 1)]
tree = ProcessTree(os.posix_spawn("/bin/sh", argv, {}, setsid=True, file_actions=actions), adopts=False)
os.read(source, 6)
tree.end(wakeup, 0.1, 1)
print(tree.exit_status)
"""
    process = start_python(code, mark)

    stdout, stderr = process.communicate(timeout=PATIENCE_S)

    assert (stdout, stderr) == ("-9\n", "")
    wait_until_ended(mark)
