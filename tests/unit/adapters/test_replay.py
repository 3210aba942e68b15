"""A recorded call answers the same call. For a different call, the failure shows the difference."""

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


def recorded_call(reply: Reply | None = None, **fields: Any) -> dict[str, Any]:
    prompt = {"system": "Plain.", "text": "Write.", "argv": ["git", "log"], "stdin": b"\xff data"}
    call = {"task": "draft", "attempt": 1, "check": None, "agent": "writer", "prompt": prompt, "latency_ms": 20}
    return call | {"reply": reply or Reply(b"done", usage=Usage(3, 0, 1))} | fields


def replay_adapter(*calls: dict[str, Any]) -> ReplayAdapter:
    return ReplayAdapter("model", {"type": "replay", "recorded": list(calls)})


def failure_message(attempt: Attempt, *calls: dict[str, Any]) -> str:
    reply, latency_ms = replay_adapter(*calls).predict(attempt)
    assert reply.failure is not None
    assert (reply, latency_ms) == (Reply(failure=Failure(ErrorKind.INVALID_REQUEST, reply.failure.message)), 0)
    return reply.failure.message


def test_the_replay_adapter_is_predictable() -> None:
    replay = replay_adapter()

    assert isinstance(replay, Adapter)
    assert isinstance(replay, Predictable)
    assert asyncio.run(replay.probe()) is None
    asyncio.run(replay.close())


def test_a_recorded_call_gets_its_recorded_reply() -> None:
    failed = Reply(b"half", Failure(ErrorKind.NETWORK, "reset"))
    calls = [
        recorded_call(failed),
        recorded_call(attempt=2),
        recorded_call(Reply(b"pass"), attempt=2, check=1, agent="critic", latency_ms=7),
        recorded_call(Reply(b"other"), task="other"),
    ]
    attempts = [call(), call(number=2), call(number=2, check=1, agent="critic"), call(task="other")]
    replay = replay_adapter(*calls)

    assert [replay.predict(attempt) for attempt in attempts] == [(c["reply"], c["latency_ms"]) for c in calls]


def test_a_reply_is_delayed_by_the_recorded_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    slow, quick = (asyncio.run(replay_adapter(recorded_call(latency_ms=ms)).answer(call())) for ms in (20, 0))

    assert (slow, quick, slept) == (recorded_call()["reply"], recorded_call()["reply"], [0.02])


def test_unrecorded_fields_of_a_prompt_are_not_compared() -> None:
    replay = replay_adapter(recorded_call(prompt={"text": "Write."}))

    assert replay.predict(call(Prompt(text="Write.", system="x", argv=("x",), stdin=b"x")))[0].content == b"done"


def test_recorded_calls_in_an_attempt_take_precedence() -> None:
    with_own_calls = pickle.loads(pickle.dumps(call(settings={"recorded": [recorded_call(Reply(b"its own"))]})))  # noqa: S301
    replay = replay_adapter(recorded_call())

    assert [replay.predict(attempt)[0].content for attempt in (call(), with_own_calls)] == [b"done", b"its own"]


def test_a_repeated_check_gets_the_last_matching_reply() -> None:
    unanswered = Reply(failure=Failure(ErrorKind.NETWORK))
    other = recorded_call(Reply(b"other"), prompt={"text": "Read."})

    assert replay_adapter(recorded_call(unanswered), recorded_call(), other).predict(call())[0].content == b"done"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            Prompt("Plainly.", "Read."),
            [
                'the prompt\'s system first differs at line 1, column 6: recorded "Plain.", requested "Plainly."',
                "-Plain.",
                "+Plainly.",
            ],
        ),
        (
            Prompt("Plain.", "Write.\n", ("git", "log")),
            [
                'the prompt\'s text first differs at line 1, column 7: recorded "Write.", requested "Write.\\n"',
                " Write.",
                "+",
            ],
        ),
        (
            Prompt("Plain.", "Write.", ("git", "log", "-1")),
            [
                (
                    "the prompt's argv first differs at line 2, column 6: "
                    "recorded \"'git'\\n'log'\", requested \"'git'\\n'log'\\n'-1'\""
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
                    "the prompt's stdin first differs at line 1, column 2: "
                    'recorded "\\\\xff data", requested "\\\\\\\\xff data"'
                ),
                "-\\xff data",
                "+\\\\xff data",
            ],
        ),
    ],
)
def test_a_different_prompt_is_a_miss_that_shows_the_first_difference(prompt: Prompt, expected: list[str]) -> None:
    first_line, location, *diff = failure_message(call(prompt), recorded_call()).split("\n")

    assert ([first_line, *diff], location) == (expected, "task 'draft', attempt 1, - recorded, + requested")


def test_a_different_agent_is_a_miss() -> None:
    assert failure_message(call(agent="critic", check=0), recorded_call(check=0)) == (
        "task 'draft', attempt 1 check 0: the agent differs: recorded 'writer', requested 'critic'"
    )


def test_a_long_difference_is_cut_around_its_start() -> None:
    long = "\n".join(f"line {n}" for n in range(1, 1_000))
    message = failure_message(
        call(Prompt(text=long.replace("line 500", "LINE 500"))), recorded_call(prompt={"text": long})
    )
    wide = 1_000 * "a"
    wide_message = failure_message(
        call(Prompt(text=f"{wide}x\r{wide}")), recorded_call(prompt={"text": f"{wide}y{wide}"})
    )
    rewritten_message = failure_message(call(Prompt(text=long.upper())), recorded_call(prompt={"text": long}))

    assert message.split("\n")[2:] == [
        " line 497", " line 498", " line 499", "-line 500", "+LINE 500", " line 501", " line 502", " line 503",
    ]  # fmt: skip
    assert wide_message.split("\n")[2:] == [
        f"-...{40 * 'a'}y{119 * 'a'}...",
        f"+...{40 * 'a'}x\\r{117 * 'a'}...",
    ]
    assert rewritten_message.split("\n")[2:] == [*(f"-line {n}" for n in range(1, 21)), "..."]


def test_the_first_line_shows_an_excerpt_of_both_texts() -> None:
    same, more = 100 * "a" + "\u2028", 100 * "b"
    message = failure_message(call(Prompt(text=f"{same}\tx{more}")), recorded_call(prompt={"text": f"{same}y"}))

    context = 11 * "a" + "\\u2028"
    assert message.split("\n")[0] == (
        f'the prompt\'s text first differs at line 1, column 102: recorded ..."{context}y", '
        f'requested ..."{context}\\tx{18 * "b"}"...'
    )


@given(st.text(), st.text())
def test_both_excerpts_stay_on_one_line(before: str, after: str) -> None:
    reply, _ = replay_adapter(recorded_call(prompt={"text": before})).predict(call(Prompt(text=after)))

    first = reply.failure.message.split("\n")[0] if reply.failure else ""
    assert first.isprintable()
    assert (", requested " in first) == (before != after)


@given(st.text(alphabet="ab\n\r"), st.text(alphabet="ab\n\r"))
def test_different_texts_always_have_a_visible_difference(before: str, after: str) -> None:
    reply, _ = replay_adapter(recorded_call(prompt={"text": before})).predict(call(Prompt(text=after)))

    diff = reply.failure.message.split("\n")[2:] if reply.failure else []
    assert any(line.startswith(("-", "+")) for line in diff) == (before != after)


def test_a_miss_lists_the_recorded_calls_of_the_task() -> None:
    calls = [recorded_call(), recorded_call(check=0), recorded_call(attempt=2), recorded_call(task="other")]

    assert failure_message(call(number=3), *calls) == (
        "task 'draft', attempt 3, was not recorded; "
        "recorded calls of this task: attempt 1; attempt 1 check 0; attempt 2"
    )
    assert failure_message(call(number=2, check=0), *calls).startswith(
        "task 'draft', attempt 2 check 0, was not recorded; "
    )
    assert failure_message(call(task="neither"), *calls) == (
        "task 'neither', attempt 1, was not recorded; the recording has no call of this task"
    )
    assert failure_message(call(number=13), *(recorded_call(attempt=n) for n in range(1, 13))).endswith(
        "attempt 10; and 2 more"
    )
