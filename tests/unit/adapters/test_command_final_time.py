"""A time that may not be overshot: ending the program, and what it leaves behind, belongs to it."""

import asyncio
import re
import signal
from pathlib import Path

import pytest

from forum_adapters import command
from forum_adapters.base import Attempt, ErrorKind, Limits, Reply
from forum_adapters.command import CommandAdapter
from forum_adapters.programs.process_run import kept_ms
from unit.adapters.command_programs import (
    PATIENCE_S,
    WITH_PATH,
    appearance,
    attempt,
    new_mark,
    reply_to,
    reply_while_stdout_is_held,
    running,
    shell,
)

DEAF = "trap '' TERM; touch ready; while :; do sleep 600; done"


@pytest.fixture(autouse=True)
def endless_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for one of them does not come back in this test."""
    monkeypatch.setattr(command, "TERM_GRACE_S", 2 * PATIENCE_S)
    monkeypatch.setattr(command, "LEFT_BEHIND_GRACE_S", 2 * PATIENCE_S)


@pytest.mark.parametrize(
    ("timeout_ms", "kept"),
    [(1, 1), (300, 30), (1_000, 100), (10_000, 100), (30_000, 300), (50_000, 500), (3_600_000, 500)],
)
def test_no_more_is_kept_than_a_tenth_and_half_a_second(timeout_ms: int, kept: int) -> None:
    assert kept_ms(Limits(timeout_ms, 0, is_final=True)) == kept


def test_a_program_has_all_of_the_time_but_what_is_kept_for_ending_it_and_that_is_said() -> None:
    reply = reply_to(attempt(*shell("exec sleep 600"), timeout_ms=3_000, is_final=True))

    assert reply.failure is not None
    said = r"'/bin/sh' was ended after (\d+) ms: of the 3000 ms that its budget leaves, 100 ms are kept for ending it"
    told = re.fullmatch(said, reply.failure.message)
    assert told is not None, reply.failure.message
    assert int(told[1]) >= 2_900
    assert (reply.failure.kind, reply.exit_status) == (ErrorKind.TIMEOUT, -signal.SIGTERM)


def test_a_program_that_does_not_heed_sigterm_is_killed_however_long_its_grace(tmp_path: Path) -> None:
    mark = new_mark()

    reply = reply_to(attempt(*shell(DEAF, mark), workspace=tmp_path, timeout_ms=3_000, is_final=True))

    assert reply.failure is not None
    assert (reply.failure.kind, reply.exit_status) == (ErrorKind.TIMEOUT, -signal.SIGKILL)
    assert running(mark) == []


def test_a_cancelled_program_is_killed_when_the_time_is_over(tmp_path: Path) -> None:
    """Its grace would last longer than the budget does."""
    asked = attempt(*shell(DEAF, new_mark()), workspace=tmp_path, timeout_ms=3_000, is_final=True)

    async def ask() -> Reply:
        adapter = CommandAdapter("shell", WITH_PATH)
        task = asyncio.create_task(adapter.answer(asked))
        await appearance(tmp_path / "ready")
        task.cancel()
        reply = await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
        await adapter.close()
        return reply

    reply = asyncio.run(ask())

    assert reply.exit_status == -signal.SIGKILL
    assert running(asked.prompt.argv[-1]) == []


def replies_in_turn(*asked: Attempt) -> list[Reply]:
    async def ask() -> list[Reply]:
        adapter = CommandAdapter("shell", WITH_PATH)
        replies = [await asyncio.wait_for(adapter.answer(one), PATIENCE_S) for one in asked]
        await adapter.close()
        return replies

    return asyncio.run(ask())


def test_what_a_program_leaves_behind_is_ended_in_the_same_time_and_is_no_failure(tmp_path: Path) -> None:
    """And the word that ends it does not reach the next program."""
    mark = new_mark()
    script = f"({DEAF}) & while [ ! -e ready ]; do sleep 0.01; done; echo over"
    first = attempt(*shell(script, mark), workspace=tmp_path, timeout_ms=3_000, is_final=True)

    left, next_one = replies_in_turn(first, attempt("echo", "next"))

    assert (left.failure, left.exit_status, left.content) == (None, 0, b"over\n")
    assert running(mark) == []
    assert (next_one.failure, next_one.content) == (None, b"next\n")


def test_somebody_else_who_holds_stdout_is_not_waited_for_beyond_the_time(tmp_path: Path) -> None:
    reply = reply_while_stdout_is_held(tmp_path, timeout_ms=3_000, is_final=True)

    assert (reply.failure, reply.content) == (None, b"over\n")
