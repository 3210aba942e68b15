"""Both model adapters with a real server. The tests check the form of an answer, never its text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from forum_adapters.base import Adapter, ErrorKind, Failure, Prompt, Reply
from servers.adapter_calls import adapter_for, ask, attempt, limits, run_and_close
from servers.formats import Format
from servers.small_model import Setting, SmallModel, require_python

CONTEXT_TOKENS = 1_024
SCHEMA = {
    "type": "object",
    "properties": {
        "color": {"enum": ["red", "green", "blue"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["color", "count"],
    "additionalProperties": False,
}
AMPLE_LIMITS = limits(max_tokens=300, timeout_ms=60_000)
formats = pytest.mark.parametrize("format_", Format)
modes = pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "complete"])


@pytest.fixture(scope="module")
def model() -> Iterator[SmallModel]:
    with SmallModel(require_python(), Setting(n_ctx=CONTEXT_TOKENS)) as model:
        yield model


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", Setting().api_key)


def adapter_of(model: SmallModel, format_: Format, is_stream: bool = True) -> Adapter:
    return adapter_for(format_, model.base_url, stream=is_stream, temperature=0, api_key_env="MODEL_KEY")


@formats
@modes
def test_an_answer_has_its_usage_and_finish_reason(model: SmallModel, format_: Format, is_stream: bool) -> None:
    reply = ask(adapter_of(model, format_, is_stream), attempt(limits=AMPLE_LIMITS))

    assert (reply.failure, reply.model, reply.finish) == (None, "small", format_.complete_reason)
    assert reply.content.decode()
    assert reply.usage is not None
    assert 0 < reply.usage.output_tokens <= AMPLE_LIMITS.max_tokens


def test_input_tokens_are_the_same_in_both_formats_cached_or_not(model: SmallModel) -> None:
    question = attempt(Prompt(text="Name three colors."), limits(max_tokens=1))
    pairs = [(format_, is_stream) for format_ in Format for is_stream in (True, False)]

    usages = [ask(adapter_of(model, format_, is_stream), question).usage for format_, is_stream in pairs]

    assert None not in usages
    assert len({usage.input_tokens for usage in usages if usage}) == 1
    assert all(0 < usage.cached_input_tokens < usage.input_tokens for usage in usages[1:] if usage)


@modes
def test_an_answer_matches_the_schema_in_the_request(model: SmallModel, is_stream: bool) -> None:
    question = attempt(Prompt(text="Which color, and how many?", output_schema=SCHEMA), AMPLE_LIMITS)

    reply = ask(adapter_of(model, Format.OPENAI, is_stream), question)

    assert reply.failure is None
    jsonschema.validate(json.loads(reply.content), SCHEMA)


@modes
def test_an_anthropic_server_without_schema_support_still_answers(model: SmallModel, is_stream: bool) -> None:
    question = attempt(Prompt(text="Say hello.", output_schema=SCHEMA), AMPLE_LIMITS)

    reply = ask(adapter_of(model, Format.ANTHROPIC, is_stream), question)

    assert reply.failure is None or reply.failure.kind is ErrorKind.OUTPUT_LIMIT
    assert reply.content
    assert reply.usage is not None


@modes
def test_a_schema_that_the_server_rejects_is_an_invalid_request(model: SmallModel, is_stream: bool) -> None:
    question = attempt(Prompt(text="Say hello.", output_schema={"type": "nonsense"}))

    assert kind_of(ask(adapter_of(model, Format.OPENAI, is_stream), question)) is ErrorKind.INVALID_REQUEST


@formats
@modes
def test_a_wrong_key_is_refused(
    model: SmallModel, format_: Format, is_stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "wrong")

    assert kind_of(ask(adapter_of(model, format_, is_stream))) is ErrorKind.AUTH


@formats
@modes
def test_a_prompt_that_is_too_long_is_a_context_length_error(
    model: SmallModel, format_: Format, is_stream: bool
) -> None:
    question = attempt(Prompt(text="word " * 2 * CONTEXT_TOKENS))

    assert kind_of(ask(adapter_of(model, format_, is_stream), question)) is ErrorKind.CONTEXT_LENGTH


@formats
@modes
def test_an_answer_is_truncated_at_its_limit(model: SmallModel, format_: Format, is_stream: bool) -> None:
    reply = ask(adapter_of(model, format_, is_stream), attempt(limits=limits(max_tokens=2)))

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the answer was truncated at 2 tokens")
    assert reply.finish == format_.truncated_reason
    assert reply.content
    assert reply.usage is not None
    assert reply.usage.output_tokens == 2


@formats
def test_a_probe_checks_the_server_and_the_key(
    model: SmallModel, format_: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = adapter_of(model, format_)

    assert run_and_close(adapter, adapter.probe()) is None

    monkeypatch.setenv("MODEL_KEY", "wrong")
    problem = run_and_close(adapter, adapter.probe())
    assert problem is not None
    assert problem.endswith(" rejects the key in MODEL_KEY")


def test_a_server_killed_while_it_answers_is_a_network_error() -> None:
    with SmallModel(require_python(), Setting(n_ctx=8_192, n_parallel=4, is_endless=True)) as model:
        host = model.address.rpartition("/")[2]
        streamed, complete = asyncio.run(kill_while_answering(model))

    message = f"the connection to {host} ended before the answer was complete"
    assert [reply.failure for reply in streamed] == [Failure(ErrorKind.NETWORK, message)] * 2
    assert all(reply.content for reply in streamed)
    assert [kind_of(reply) for reply in complete] == [ErrorKind.NETWORK] * 2


async def kill_while_answering(model: SmallModel) -> tuple[list[Reply], list[Reply]]:
    """Kill the server while it answers. Return the streamed replies and the others."""
    pairs = [(format_, is_stream) for is_stream in (True, False) for format_ in Format]
    adapters = [adapter_of(model, *mode) for mode in pairs]
    question = attempt(limits=limits(max_tokens=2_000, timeout_ms=120_000))
    calls = [asyncio.create_task(adapter.answer(question)) for adapter in adapters]
    while min(tokens := await asyncio.to_thread(model.decoded_tokens), default=0) < 8 or len(tokens) < len(calls):
        assert not any(call.done() for call in calls)
        await asyncio.sleep(0.05)
    model.kill()
    replies = await asyncio.gather(*calls)
    for adapter in adapters:
        await adapter.close()
    return replies[:2], replies[2:]


def kind_of(reply: Reply) -> Any:
    assert reply.failure is not None
    return reply.failure.kind
