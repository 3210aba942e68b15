"""Limits are enforced while a program runs, and memory does not grow with its output."""

import subprocess
import sys
from pathlib import Path

import pytest

from forum_adapters import command
from forum_adapters.base import ErrorKind, Failure
from forum_adapters.programs.output_capture import FirstAndLastBytes, FirstBytes
from unit.adapters.command_programs import PATIENCE_S, attempt, new_mark, python, reply_to, shell, wait_until_ended

ROOT = Path(__file__).parents[3]
KIB = 1024


def test_output_up_to_the_limit_is_kept_completely() -> None:
    reply = reply_to(attempt("head", "-c", "1000", "/dev/zero", max_output_bytes=1000))

    assert (reply.failure, reply.content) == (None, bytes(1000))


def test_one_byte_over_the_limit_is_a_failure_that_keeps_the_first_bytes() -> None:
    reply = reply_to(attempt("head", "-c", "1001", "/dev/zero", max_output_bytes=1000))

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "'head' wrote more than 1000 bytes")
    assert reply.content == bytes(1000)


def test_a_program_that_never_stops_writing_is_terminated_at_the_limit() -> None:
    mark = new_mark()

    reply = reply_to(attempt("yes", mark, max_output_bytes=100))

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "'yes' wrote more than 100 bytes")
    assert (len(reply.content), reply.exit_status) == (100, -15)
    wait_until_ended(mark)


def test_a_program_that_takes_too_long_is_terminated_and_its_output_is_kept() -> None:
    mark = new_mark()

    reply = reply_to(attempt(*shell("echo so far; sleep 600", mark), timeout_ms=500))

    assert reply.failure == Failure(ErrorKind.TIMEOUT, "'/bin/sh' took longer than 500 ms")
    assert reply.exit_status == -15
    # On a slow machine, the program may not have written yet.
    assert reply.content in (b"", b"so far\n")
    wait_until_ended(mark)


def test_a_program_that_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TERM_GRACE_S", 0.1)
    program = python(
        "import signal; signal.signal(15, signal.SIG_IGN); print('x', flush=True)\nwhile True: signal.pause()"
    )

    reply = reply_to(attempt(*program, max_output_bytes=0))

    assert reply.failure is not None
    assert (reply.failure.kind, reply.exit_status) == (ErrorKind.OUTPUT_LIMIT, -9)


def test_a_program_that_handles_sigterm_chooses_its_exit_status() -> None:
    program = shell("trap 'echo cleaned up >&2; exit 5' TERM; echo x; while true; do sleep 0.05; done")

    reply = reply_to(attempt(*program, max_output_bytes=0))

    assert (reply.exit_status, reply.stderr.splitlines()[-1]) == (5, b"cleaned up")


def test_the_first_exceeded_limit_is_the_failure() -> None:
    program = shell("trap 'yes | head -c 1000; exit' TERM; while true; do sleep 0.05; done")

    reply = reply_to(attempt(*program, timeout_ms=500, max_output_bytes=10))

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.TIMEOUT
    assert len(reply.content) <= 10


def test_a_stopped_program_also_receives_sigterm() -> None:
    reply = reply_to(attempt(*shell("echo x; kill -STOP $$"), max_output_bytes=0))

    assert reply.exit_status == -15


def test_a_short_stderr_is_kept_unchanged() -> None:
    assert reply_to(attempt(*shell("head -c 65536 /dev/zero >&2"))).stderr == bytes(65536)


def test_a_long_stderr_is_cut_in_the_middle_and_is_not_a_failure() -> None:
    program = shell("head -c 40000 /dev/zero >&2; yes middle | head -c 100000 >&2; echo the cause >&2; echo fine")

    reply = reply_to(attempt(*program))

    left_out = 40000 + 100000 + len("the cause\n") - 64 * KIB
    assert (reply.failure, reply.content) == (None, b"fine\n")
    assert reply.stderr.startswith(bytes(32 * KIB) + b"\n[%d bytes left out]\n" % left_out)
    assert reply.stderr.endswith(b"the cause\n")
    assert len(reply.stderr) == 64 * KIB + len(b"\n[%d bytes left out]\n" % left_out)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("total", [0, 1, 9, 10, 19, 20, 21, 50, 1000])
def test_kept_bytes_do_not_depend_on_the_chunk_size(size: int, total: int) -> None:
    written = bytes(n % 251 for n in range(total))
    first, first_and_last = FirstBytes(10), FirstAndLastBytes(10)

    for start in range(0, total, size):
        first.feed(written[start : start + size])
        first_and_last.feed(written[start : start + size])

    cut = written[:10] + b"\n[%d bytes left out]\n" % (total - 20) + written[-10:]
    assert (first.content(), first.is_exceeded) == (written[:10], total > 10)
    assert first_and_last.content() == (written if total <= 20 else cut.replace(b"\n\n", b"\n"))


@pytest.mark.parametrize(
    ("ending", "kept_ending"),
    [
        (b"x", b"x"),
        (b"x\n", b"x"),
        (b"x\r\n", b"x"),
        (b"x\r\r\n", b"x\r"),
        (b"x\r", b"x\r"),
        # The runner removes this trailing newline.
        (b"x\n\n", b"x\n\n"),
        (b"x\r\n\n", b"x\r\n\n"),
        (b"x\n\r\n", b"x\n\r\n"),
    ],
)
def test_a_trailing_newline_is_removed_from_large_content(ending: bytes, kept_ending: bytes) -> None:
    first = FirstBytes(2 * KIB * KIB)

    first.feed(bytes(KIB * KIB))
    first.feed(ending)

    content = first.content()
    assert content == bytes(KIB * KIB) + kept_ending
    assert first.content() is content


WRITE_AND_PRINT_GROWTH = """
import asyncio, resource
from forum_adapters.command import CommandAdapter
from unit.adapters.command_programs import WITH_PATH, attempt, shell

async def main():
    adapter = CommandAdapter("shell", WITH_PATH)
    await adapter.answer(attempt(*shell("echo warm")))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stdout = await adapter.answer(attempt(*shell("trap '' TERM; head -c 200000000 /dev/zero; echo over >&2")))
    stderr = await adapter.answer(attempt(*shell("head -c 200000000 /dev/zero >&2; echo over")))
    print(stdout.failure.kind, len(stdout.content), stdout.stderr, stderr.failure, stderr.content)
    print(len(stderr.stderr))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    await adapter.close()

asyncio.run(main())
"""


def test_memory_stays_flat_when_a_program_writes_200_megabytes() -> None:
    environment = {"PYTHONPATH": f"{ROOT / 'adapters'}:{ROOT / 'tests'}"}

    result = subprocess.run(
        [sys.executable, "-c", WRITE_AND_PRINT_GROWTH],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        timeout=PATIENCE_S,
    )

    summary, stderr_bytes, growth_kib = result.stdout.splitlines()
    assert summary == "output_limit 1048576 b'over\\n' None b'over\\n'"
    assert int(stderr_bytes) < 65 * KIB
    assert int(growth_kib) < 30 * KIB
