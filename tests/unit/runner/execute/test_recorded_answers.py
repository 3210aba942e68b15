"""A replayed call is compared with the recorded prompt after scrubbing."""

import asyncio

from forum_adapters.base import Attempt, Limits, Prompt, Reply
from forum_adapters.replay import ReplayAdapter
from forum_runner.app.recorded_answers import RecordedPromptAdapter
from forum_runner.execute.secrets import Scrubber

KEY = "sk-" + "k" * 80
SCRUBBER = Scrubber({"KEY": KEY})


def replay_answer(text: str, recorded: str) -> Reply:
    call = {"task": "a", "attempt": 1, "check": None, "prompt": {"text": recorded}, "latency_ms": 0}
    adapter = ReplayAdapter("model", {"recorded": [{**call, "reply": Reply(b"done")}]})
    attempt = Attempt("a1", "run-2", "a", 1, "model", {}, Prompt(text=text), Limits(1, 1))
    return asyncio.run(RecordedPromptAdapter(adapter, "run-1", SCRUBBER).answer(attempt))


def test_a_prompt_with_a_secret_matches_the_recorded_scrubbed_prompt() -> None:
    assert replay_answer(f"run-2 with {KEY}", "run-1 with [scrubbed: KEY]").content == b"done"


def test_a_prompt_mismatch_shows_no_part_of_a_secret() -> None:
    reply = replay_answer(f"with {KEY} and more", "with nothing")

    assert reply.failure is not None
    assert 'requested "with [scrubbed: KEY] and more"' in reply.failure.message
    assert "kkk" not in reply.failure.message
