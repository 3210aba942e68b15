"""A call in the name of an earlier run is compared as a record would have it."""

import asyncio

from forum_adapters.base import Attempt, Limits, Prompt, Reply
from forum_adapters.replay import ReplayAdapter
from forum_runner.app.recorded_answers import AsRecorded
from forum_runner.execute.secrets import Scrubber

KEY = "sk-" + "k" * 80
SCRUBBER = Scrubber({"KEY": KEY})


def answered(text: str, recorded: str) -> Reply:
    call = {"task": "a", "attempt": 1, "check": None, "prompt": {"text": recorded}, "latency_ms": 0}
    adapter = ReplayAdapter("model", {"recorded": [{**call, "reply": Reply(b"done")}]})
    attempt = Attempt("a1", "run-2", "a", 1, "model", {}, Prompt(text=text), Limits(1, 1))
    return asyncio.run(AsRecorded(adapter, "run-1", SCRUBBER).answer(attempt))


def test_a_prompt_with_a_secret_has_the_answer_of_the_one_that_was_scrubbed() -> None:
    assert answered(f"run-2 with {KEY}", "run-1 with [scrubbed: KEY]").content == b"done"


def test_no_half_of_a_secret_is_shown_where_a_prompt_differs() -> None:
    reply = answered(f"with {KEY} and more", "with nothing")

    assert reply.failure is not None
    assert 'asked "with [scrubbed: KEY] and more"' in reply.failure.message
    assert "kkk" not in reply.failure.message
