"""What a program is given, and what becomes of what it says."""

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


def script(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_it_is_an_adapter() -> None:
    assert isinstance(CommandAdapter("shell", {}), Adapter)


def test_a_program_that_succeeds_is_answered_by_its_stdout() -> None:
    reply = reply_to(attempt(*shell("echo out; echo err >&2")))

    assert reply == Reply(content=b"out\n", stderr=b"err\n", exit_status=0, executable=executable_of("/bin/sh"))


def test_a_status_other_than_zero_is_a_failure_that_keeps_the_output() -> None:
    reply = reply_to(attempt(*shell("echo out; echo err >&2; exit 7")))

    assert reply == Reply(
        content=b"out\n",
        failure=Failure(ErrorKind.EXIT_STATUS, "'/bin/sh' ended with status 7"),
        stderr=b"err\n",
        exit_status=7,
        executable=executable_of("/bin/sh"),
    )


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGKILL, "SIGKILL"), (signal.SIGSEGV, "SIGSEGV"), (40, "signal 40")]
)
def test_an_end_by_a_signal_is_a_negative_status_and_names_the_signal(number: int, name: str) -> None:
    reply = reply_to(attempt(*python(f"import os; os.write(1, b'so far'); os.kill(os.getpid(), {int(number)})")))

    assert (reply.exit_status, reply.content) == (-number, b"so far")
    assert reply.failure == Failure(ErrorKind.EXIT_STATUS, f"'{sys.executable}' was ended by {name}")


def test_arguments_arrive_as_they_are_without_a_shell() -> None:
    arguments = ("$HOME", "*", "a b", "", "'\"", "ü", "\udcff", "-n", "line\nline")

    reply = reply_to(
        attempt(*python("import os, sys; os.write(1, b'|'.join(map(os.fsencode, sys.argv[1:])))", *arguments))
    )

    assert reply.content == b"|".join(os.fsencode(argument) for argument in arguments)


def test_stdin_arrives_whole() -> None:
    stdin = bytes(range(256)) * 4096

    reply = reply_to(attempt("cat", stdin=stdin, max_output_bytes=len(stdin)))

    assert (reply.content, reply.failure) == (stdin, None)


def test_an_empty_stdin_ends_at_once() -> None:
    assert reply_to(attempt(*shell("cat; echo over"))).content == b"over\n"


@pytest.mark.parametrize("program", ["true", "exec 0<&-; read x; echo over", "head -c 1 > /dev/null"])
def test_a_program_need_not_read_its_stdin(program: str) -> None:
    reply = reply_to(attempt(*shell(program), stdin=b"x" * 10_000_000))

    assert (reply.exit_status, reply.failure) == (0, None)


def test_a_program_may_write_much_before_it_reads() -> None:
    stdin = b"y" * 3_000_000
    code = "import sys; sys.stdout.write('x' * 3_000_000); sys.stdout.write(sys.stdin.read())"

    reply = reply_to(attempt(*python(code), stdin=stdin, max_output_bytes=6_000_000))

    assert reply.content == b"x" * 3_000_000 + stdin


def test_fifty_programs_run_side_by_side_each_with_its_own_answer() -> None:
    async def ask_all() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        asked = [adapter.answer(attempt(*shell(f"cat; exit {n}"), stdin=b"%d" % n)) for n in range(50)]
        replies = await asyncio.wait_for(asyncio.gather(*asked), PATIENCE_S)
        await adapter.close()
        return replies

    replies = asyncio.run(ask_all())

    assert [(reply.exit_status, reply.content) for reply in replies] == [(n, b"%d" % n) for n in range(50)]


@pytest.mark.parametrize(
    ("settings", "allowed", "seen"),
    [
        ({"env": ["FORUM_A", "FORUM_B"]}, ("*",), {b"FORUM_A=1", b"FORUM_B=2"}),
        ({"env": ["FORUM_A", "FORUM_B"]}, ("FORUM_B", "FORUM_C"), {b"FORUM_B=2"}),
        ({"env": ["FORUM_A", "FORUM_UNSET"]}, ("*",), {b"FORUM_A=1"}),
        ({"env": ["FORUM_A"]}, (), set()),
        ({}, ("*",), set()),
    ],
)
def test_the_environment_is_what_was_asked_for_and_allowed_and_set(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, list[str]], allowed: tuple[str, ...], seen: set[bytes]
) -> None:
    for name, value in {"FORUM_A": "1", "FORUM_B": "2", "FORUM_C": "3"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FORUM_UNSET", raising=False)

    reply = reply_to(attempt("env", env=allowed), settings)

    assert set(reply.content.splitlines()) == seen


def test_a_program_inherits_no_files_but_its_three() -> None:
    code = """
import os
for file in range(1024):
    try:
        os.fstat(file)
    except OSError:
        continue
    print(file)
"""

    assert reply_to(attempt(*python(code))).content.split() == [b"0", b"1", b"2"]


def test_a_program_finds_the_signals_as_if_we_had_started_it_ourselves() -> None:
    asked = ("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")

    ours = reply_to(attempt(*asked)).content
    plain = subprocess.run(asked, capture_output=True, check=True).stdout

    # The C library ignores two signals of its own, 32 and 33, in whatever it spawns.
    masks = [[int(line.split()[1], 16) & 0x7FFFFFFF for line in found.splitlines()] for found in (ours, plain)]
    assert masks[0] == masks[1]


def test_one_adapter_serves_one_event_loop_after_the_other() -> None:
    adapter = CommandAdapter("shell", WITH_PATH)

    replies = [asyncio.run(adapter.answer(attempt("echo", word))) for word in ("one", "two")]
    asyncio.run(adapter.close())
    replies.append(asyncio.run(adapter.answer(attempt("echo", "after its end"))))
    asyncio.run(adapter.close())

    assert [reply.content for reply in replies] == [b"one\n", b"two\n", b"after its end\n"]


def test_no_file_stays_open_after_an_attempt(tmp_path: Path) -> None:
    async def ask() -> tuple[int, int]:
        adapter = CommandAdapter("shell", WITH_PATH)
        asked = [
            attempt("true", stdin=b"x" * 100_000),
            attempt("no-such-program"),
            attempt(str(script(tmp_path / "broken", "#!/no/such/interpreter\n"))),
            attempt("yes", max_output_bytes=10),
            attempt("sleep", "600", timeout_ms=1),
        ]
        # The first round opens what the adapter keeps: its keeper, a warden, the event loop's thread.
        counts = []
        for _ in range(3):
            for each in asked:
                await adapter.answer(each)
            counts.append(len(list(Path("/proc/self/fd").iterdir())))
        await adapter.close()
        return counts[0], counts[-1]

    before, after = asyncio.run(asyncio.wait_for(ask(), PATIENCE_S))

    assert after == before
