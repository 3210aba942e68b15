"""A recorded call answers the same call, and a call that differs is told in what."""

import asyncio
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_adapters.base import Adapter, Attempt, ErrorKind, Failure, Limits, Predictable, Prompt, Reply, Usage
from forum_adapters.replay import ReplayAdapter

PROMPT = Prompt(system="Plain.", text="Write.", argv=("git", "log"), stdin=b"\xff data")


def call(prompt: Prompt = PROMPT, **fields: Any) -> Attempt:
    defaults: dict[str, Any] = {"task": "draft", "number": 1, "agent": "writer", "settings": {}, "check": None}
    return Attempt(id="a1", run="r", adapter="model", prompt=prompt, limits=Limits(1, 1), **(defaults | fields))


def recorded(reply: Reply | None = None, **fields: Any) -> dict[str, Any]:
    prompt = {"system": "Plain.", "text": "Write.", "argv": ["git", "log"], "stdin": b"\xff data"}
    call = {"task": "draft", "attempt": 1, "check": None, "agent": "writer", "prompt": prompt, "latency_ms": 20}
    return call | {"reply": reply or Reply(b"done", usage=Usage(3, 0, 1))} | fields


def adapter(*calls: dict[str, Any]) -> ReplayAdapter:
    return ReplayAdapter("model", {"type": "replay", "recorded": list(calls)})


def message(attempt: Attempt, *calls: dict[str, Any]) -> str:
    reply, latency_ms = adapter(*calls).predict(attempt)
    assert reply.failure is not None
    assert (reply, latency_ms) == (Reply(failure=Failure(ErrorKind.INVALID_REQUEST, reply.failure.message)), 0)
    return reply.failure.message


def test_it_is_an_adapter_that_foresees() -> None:
    replay = adapter()

    assert isinstance(replay, Adapter)
    assert isinstance(replay, Predictable)
    assert asyncio.run(replay.probe()) is None
    asyncio.run(replay.close())


def test_a_recorded_call_is_answered_as_it_was() -> None:
    failed = Reply(b"half", Failure(ErrorKind.NETWORK, "reset"))
    calls = [
        recorded(failed),
        recorded(attempt=2),
        recorded(Reply(b"pass"), attempt=2, check=1, agent="critic", latency_ms=7),
        recorded(Reply(b"other"), task="other"),
    ]
    asked = [call(), call(number=2), call(number=2, check=1, agent="critic"), call(task="other")]
    replay = adapter(*calls)

    assert [replay.predict(attempt) for attempt in asked] == [(c["reply"], c["latency_ms"]) for c in calls]


def test_an_answer_comes_after_the_recorded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    slow, quick = (asyncio.run(adapter(recorded(latency_ms=ms)).answer(call())) for ms in (20, 0))

    assert (slow, quick, slept) == (recorded()["reply"], recorded()["reply"], [0.02])


def test_what_was_not_recorded_of_a_prompt_is_not_compared() -> None:
    replay = adapter(recorded(prompt={"text": "Write."}))

    assert replay.predict(call(Prompt(text="Write.", system="x", argv=("x",), stdin=b"x")))[0].content == b"done"


def test_an_attempt_that_carries_recorded_calls_is_answered_from_those() -> None:
    carrying = pickle.loads(pickle.dumps(call(settings={"recorded": [recorded(Reply(b"its own"))]})))  # noqa: S301
    replay = adapter(recorded())

    assert [replay.predict(attempt)[0].content for attempt in (call(), carrying)] == [b"done", b"its own"]


def test_a_check_that_was_asked_again_is_answered_as_the_last_time_that_agrees() -> None:
    unanswered = Reply(failure=Failure(ErrorKind.NETWORK))
    other = recorded(Reply(b"other"), prompt={"text": "Read."})

    assert adapter(recorded(unanswered), recorded(), other).predict(call())[0].content == b"done"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            Prompt("Plainly.", "Read."),
            [
                'the prompt\'s system differs from line 1, column 6 on: recorded "Plain.", asked "Plainly."',
                "-Plain.",
                "+Plainly.",
            ],
        ),
        (
            Prompt("Plain.", "Write.\n", ("git", "log")),
            [
                'the prompt\'s text differs from line 1, column 7 on: recorded "Write.", asked "Write.\\n"',
                " Write.",
                "+",
            ],
        ),
        (
            Prompt("Plain.", "Write.", ("git", "log", "-1")),
            [
                (
                    "the prompt's argv differs from line 2, column 6 on: "
                    "recorded \"'git'\\n'log'\", asked \"'git'\\n'log'\\n'-1'\""
                ),
                " 'git'",
                " 'log'",
                "+'-1'",
            ],
        ),
        (
            Prompt("Plain.", "Write.", ("git", "log"), b"\\xff data"),
            [
                (
                    "the prompt's stdin differs from line 1, column 2 on: "
                    'recorded "\\\\xff data", asked "\\\\\\\\xff data"'
                ),
                "-\\xff data",
                "+\\\\xff data",
            ],
        ),
    ],
)
def test_another_prompt_is_a_miss_that_shows_the_first_field_that_differs(prompt: Prompt, expected: list[str]) -> None:
    found, where, *diff = message(call(prompt), recorded()).split("\n")

    assert ([found, *diff], where) == (expected, "task 'draft', attempt 1, - recorded, + asked")


def test_another_agent_is_a_miss() -> None:
    assert message(call(agent="critic", check=0), recorded(check=0)) == (
        "task 'draft', attempt 1 check 0: the agent differs from the recorded one: "
        "'writer' was recorded, 'critic' is called"
    )


def test_a_long_difference_is_cut_to_what_stands_around_its_beginning() -> None:
    long = "\n".join(f"line {n}" for n in range(1, 1_000))
    found = message(call(Prompt(text=long.replace("line 500", "LINE 500"))), recorded(prompt={"text": long}))
    wide = 1_000 * "a"
    found_wide = message(call(Prompt(text=f"{wide}x\r{wide}")), recorded(prompt={"text": f"{wide}y{wide}"}))
    rewritten = message(call(Prompt(text=long.upper())), recorded(prompt={"text": long}))

    assert found.split("\n")[2:] == [
        " line 497", " line 498", " line 499", "-line 500", "+LINE 500", " line 501", " line 502", " line 503",
    ]  # fmt: skip
    assert found_wide.split("\n")[2:] == [
        f"-...{40 * 'a'}y{119 * 'a'}...",
        f"+...{40 * 'a'}x\\r{117 * 'a'}...",
    ]
    assert rewritten.split("\n")[2:] == [*(f"-line {n}" for n in range(1, 21)), "..."]


def test_the_first_line_shows_a_short_piece_of_both_sides() -> None:
    same, more = 100 * "a" + "\u2028", 100 * "b"
    found = message(call(Prompt(text=f"{same}\tx{more}")), recorded(prompt={"text": f"{same}y"}))

    shown = 11 * "a" + "\\u2028"
    assert found.split("\n")[0] == (
        f'the prompt\'s text differs from line 1, column 102 on: recorded ..."{shown}y", '
        f'asked ..."{shown}\\tx{18 * "b"}"...'
    )


@given(st.text(), st.text())
def test_what_is_shown_of_both_sides_stays_on_one_line(before: str, after: str) -> None:
    reply, _ = adapter(recorded(prompt={"text": before})).predict(call(Prompt(text=after)))

    first = reply.failure.message.split("\n")[0] if reply.failure else ""
    assert first.isprintable()
    assert (", asked " in first) == (before != after)


@given(st.text(alphabet="ab\n\r"), st.text(alphabet="ab\n\r"))
def test_texts_that_differ_never_show_an_empty_difference(before: str, after: str) -> None:
    reply, _ = adapter(recorded(prompt={"text": before})).predict(call(Prompt(text=after)))

    shown = reply.failure.message.split("\n")[2:] if reply.failure else []
    assert any(line.startswith(("-", "+")) for line in shown) == (before != after)


def test_a_call_that_was_not_recorded_is_told_what_was() -> None:
    calls = [recorded(), recorded(check=0), recorded(attempt=2), recorded(task="other")]

    assert message(call(number=3), *calls) == (
        "task 'draft', attempt 3, was not recorded; recorded of this task: attempt 1; attempt 1 check 0; attempt 2"
    )
    assert message(call(number=2, check=0), *calls).startswith("task 'draft', attempt 2 check 0, was not recorded; ")
    assert message(call(task="neither"), *calls) == (
        "task 'neither', attempt 1, was not recorded; nothing of this task was"
    )
    assert message(call(number=13), *(recorded(attempt=n) for n in range(1, 13))).endswith("attempt 10; and 2 more")
