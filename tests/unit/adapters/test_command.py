"""The input of a program, and its output as a reply."""

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forum_adapters.base import Adapter, ErrorKind, Executable, Failure, Reply
from forum_adapters.command import CommandAdapter
from unit.adapters.command_programs import PATIENCE_S, WITH_PATH, attempt, python, reply_to, shell


def executable_of(path: str) -> Executable:
    real = Path(path).resolve()
    return Executable(str(real), hashlib.sha256(real.read_bytes()).hexdigest())


def write_script(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_command_adapter_is_an_adapter() -> None:
    assert isinstance(CommandAdapter("shell", {}), Adapter)


def test_stdout_is_the_reply_of_a_successful_program() -> None:
    reply = reply_to(attempt(*shell("echo out; echo err >&2")))

    assert reply == Reply(content=b"out\n", stderr=b"err\n", exit_status=0, executable=executable_of("/bin/sh"))


def test_a_nonzero_exit_status_is_a_failure_that_keeps_the_output() -> None:
    reply = reply_to(attempt(*shell("echo out; echo err >&2; exit 7")))

    assert reply == Reply(
        content=b"out\n",
        failure=Failure(ErrorKind.EXIT_STATUS, "'/bin/sh' exited with status 7"),
        stderr=b"err\n",
        exit_status=7,
        executable=executable_of("/bin/sh"),
    )


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGKILL, "SIGKILL"), (signal.SIGSEGV, "SIGSEGV"), (40, "signal 40")]
)
def test_a_signal_is_a_negative_exit_status_and_is_named(number: int, name: str) -> None:
    reply = reply_to(attempt(*python(f"import os; os.write(1, b'so far'); os.kill(os.getpid(), {int(number)})")))

    assert (reply.exit_status, reply.content) == (-number, b"so far")
    assert reply.failure == Failure(ErrorKind.EXIT_STATUS, f"'{sys.executable}' was killed by {name}")


def test_arguments_are_passed_unchanged_without_a_shell() -> None:
    arguments = ("$HOME", "*", "a b", "", "'\"", "ü", "\udcff", "-n", "line\nline")

    reply = reply_to(
        attempt(*python("import os, sys; os.write(1, b'|'.join(map(os.fsencode, sys.argv[1:])))", *arguments))
    )

    assert reply.content == b"|".join(os.fsencode(argument) for argument in arguments)


def test_stdin_is_passed_completely() -> None:
    stdin = bytes(range(256)) * 4096

    reply = reply_to(attempt("cat", stdin=stdin, max_output_bytes=len(stdin)))

    assert (reply.content, reply.failure) == (stdin, None)


def test_empty_stdin_ends_immediately() -> None:
    assert reply_to(attempt(*shell("cat; echo over"))).content == b"over\n"


@pytest.mark.parametrize("program", ["true", "exec 0<&-; read x; echo over", "head -c 1 > /dev/null"])
def test_a_program_need_not_read_its_stdin(program: str) -> None:
    reply = reply_to(attempt(*shell(program), stdin=b"x" * 10_000_000))

    assert (reply.exit_status, reply.failure) == (0, None)


def test_a_program_may_write_a_lot_before_it_reads() -> None:
    stdin = b"y" * 3_000_000
    code = "import sys; sys.stdout.write('x' * 3_000_000); sys.stdout.write(sys.stdin.read())"

    reply = reply_to(attempt(*python(code), stdin=stdin, max_output_bytes=6_000_000))

    assert reply.content == b"x" * 3_000_000 + stdin


def test_fifty_programs_run_concurrently_and_each_has_its_own_reply() -> None:
    async def ask_all() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        calls = [adapter.answer(attempt(*shell(f"cat; exit {n}"), stdin=b"%d" % n)) for n in range(50)]
        replies = await asyncio.wait_for(asyncio.gather(*calls), PATIENCE_S)
        await adapter.close()
        return replies

    replies = asyncio.run(ask_all())

    assert [(reply.exit_status, reply.content) for reply in replies] == [(n, b"%d" % n) for n in range(50)]


@pytest.mark.parametrize(
    ("settings", "allowed", "expected"),
    [
        ({"env": ["FORUM_A", "FORUM_B"]}, ("*",), {b"FORUM_A=1", b"FORUM_B=2"}),
        ({"env": ["FORUM_A", "FORUM_B"]}, ("FORUM_B", "FORUM_C"), {b"FORUM_B=2"}),
        ({"env": ["FORUM_A", "FORUM_UNSET"]}, ("*",), {b"FORUM_A=1"}),
        ({"env": ["FORUM_A"]}, (), set()),
        ({}, ("*",), set()),
    ],
)
def test_the_environment_has_the_requested_variables_that_are_allowed_and_set(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, list[str]], allowed: tuple[str, ...], expected: set[bytes]
) -> None:
    for name, value in {"FORUM_A": "1", "FORUM_B": "2", "FORUM_C": "3"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FORUM_UNSET", raising=False)

    reply = reply_to(attempt("env", env=allowed), settings)

    assert set(reply.content.splitlines()) == expected


def test_a_program_inherits_only_the_three_standard_streams() -> None:
    code = """
import os
for fd in range(1024):
    try:
        os.fstat(fd)
    except OSError:
        continue
    print(fd)
"""

    assert reply_to(attempt(*python(code))).content.split() == [b"0", b"1", b"2"]


def test_a_program_has_the_same_signal_masks_as_a_direct_child() -> None:
    command = ("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")

    through_adapter = reply_to(attempt(*command)).content
    direct = subprocess.run(command, capture_output=True, check=True).stdout

    # The C library ignores its signals 32 and 33 in every process it spawns.
    masks = [
        [int(line.split()[1], 16) & 0x7FFFFFFF for line in status.splitlines()] for status in (through_adapter, direct)
    ]
    assert masks[0] == masks[1]


def test_one_adapter_serves_several_event_loops_in_turn() -> None:
    adapter = CommandAdapter("shell", WITH_PATH)

    replies = [asyncio.run(adapter.answer(attempt("echo", word))) for word in ("one", "two")]
    asyncio.run(adapter.close())
    replies.append(asyncio.run(adapter.answer(attempt("echo", "after closing"))))
    asyncio.run(adapter.close())

    assert [reply.content for reply in replies] == [b"one\n", b"two\n", b"after closing\n"]


def test_no_file_stays_open_after_an_attempt(tmp_path: Path) -> None:
    async def ask() -> tuple[int, int]:
        adapter = CommandAdapter("shell", WITH_PATH)
        requests = [
            attempt("true", stdin=b"x" * 100_000),
            attempt("no-such-program"),
            attempt(str(write_script(tmp_path / "broken", "#!/no/such/interpreter\n"))),
            attempt("yes", max_output_bytes=10),
            attempt("sleep", "600", timeout_ms=1),
        ]
        # The first round opens files that stay open: those of the keeper, a warden and the event loop's thread.
        counts = []
        for _ in range(3):
            for request in requests:
                await adapter.answer(request)
            counts.append(len(list(Path("/proc/self/fd").iterdir())))
        await adapter.close()
        return counts[0], counts[-1]

    before, after = asyncio.run(asyncio.wait_for(ask(), PATIENCE_S))

    assert after == before
