"""A final time limit is never exceeded: it includes the time to terminate the program and its leftover processes."""

import asyncio
import re
import signal
from pathlib import Path

import pytest

from forum_adapters import command
from forum_adapters.base import Attempt, ErrorKind, Limits, Reply
from forum_adapters.command import CommandAdapter
from forum_adapters.programs.process_run import shutdown_reserve_ms
from unit.adapters.command_programs import (
    PATIENCE_S,
    WITH_PATH,
    attempt,
    new_mark,
    reply_to,
    reply_while_stdout_is_held,
    running_processes,
    shell,
    wait_for_file,
)

IGNORES_SIGTERM = "trap '' TERM; touch ready; while :; do sleep 600; done"


@pytest.fixture(autouse=True)
def long_grace_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grace periods are longer than the timeout of the tests, so a call that waits for one fails its test."""
    monkeypatch.setattr(command, "TERM_GRACE_S", 2 * PATIENCE_S)
    monkeypatch.setattr(command, "STRAY_GRACE_S", 2 * PATIENCE_S)


@pytest.mark.parametrize(
    ("timeout_ms", "reserved_ms"),
    [(1, 1), (300, 30), (1_000, 100), (10_000, 100), (30_000, 300), (50_000, 500), (3_600_000, 500)],
)
def test_at_most_a_tenth_and_half_a_second_are_reserved_for_termination(timeout_ms: int, reserved_ms: int) -> None:
    assert shutdown_reserve_ms(Limits(timeout_ms, 0, is_final=True)) == reserved_ms


def test_a_program_has_all_of_its_time_except_for_the_reserve_which_the_message_names() -> None:
    reply = reply_to(attempt(*shell("exec sleep 600"), timeout_ms=3_000, is_final=True))

    assert reply.failure is not None
    pattern = r"'/bin/sh' was ended after (\d+) ms: its budget leaves 3000 ms, and 100 ms are reserved for ending it"
    match = re.fullmatch(pattern, reply.failure.message)
    assert match is not None, reply.failure.message
    assert int(match[1]) >= 2_900
    assert (reply.failure.kind, reply.exit_status) == (ErrorKind.TIMEOUT, -signal.SIGTERM)


def test_a_program_that_ignores_sigterm_is_killed_before_its_grace_period_ends(tmp_path: Path) -> None:
    mark = new_mark()

    reply = reply_to(attempt(*shell(IGNORES_SIGTERM, mark), workspace=tmp_path, timeout_ms=3_000, is_final=True))

    assert reply.failure is not None
    assert (reply.failure.kind, reply.exit_status) == (ErrorKind.TIMEOUT, -signal.SIGKILL)
    assert running_processes(mark) == []


def test_a_cancelled_program_is_killed_at_the_time_limit(tmp_path: Path) -> None:
    """Its grace period is longer than the remaining time."""
    request = attempt(*shell(IGNORES_SIGTERM, new_mark()), workspace=tmp_path, timeout_ms=3_000, is_final=True)

    async def ask() -> Reply:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(request))
        await wait_for_file(tmp_path / "ready")
        task.cancel()
        reply = await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
        await adapter.close()
        return reply

    reply = asyncio.run(ask())

    assert reply.exit_status == -signal.SIGKILL
    assert running_processes(request.prompt.argv[-1]) == []


def replies_in_turn(*requests: Attempt) -> list[Reply]:
    async def ask() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        replies = [await asyncio.wait_for(adapter.answer(request), PATIENCE_S) for request in requests]
        await adapter.close()
        return replies

    return asyncio.run(ask())


def test_leftover_processes_are_terminated_within_the_time_and_are_not_a_failure(tmp_path: Path) -> None:
    """The request to terminate them does not affect the next program."""
    mark = new_mark()
    script = f"({IGNORES_SIGTERM}) & while [ ! -e ready ]; do sleep 0.01; done; echo over"
    first = attempt(*shell(script, mark), workspace=tmp_path, timeout_ms=3_000, is_final=True)

    first_reply, next_reply = replies_in_turn(first, attempt("echo", "next"))

    assert (first_reply.failure, first_reply.exit_status, first_reply.content) == (None, 0, b"over\n")
    assert running_processes(mark) == []
    assert (next_reply.failure, next_reply.content) == (None, b"next\n")


def test_an_unrelated_process_that_holds_stdout_does_not_extend_the_time(tmp_path: Path) -> None:
    reply = reply_while_stdout_is_held(tmp_path, timeout_ms=3_000, is_final=True)

    assert (reply.failure, reply.content) == (None, b"over\n")
