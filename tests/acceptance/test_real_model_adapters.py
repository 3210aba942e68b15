"""Both adapters against a real model server. What a model says is never looked at, only how it is said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from forum_adapters.base import Adapter, ErrorKind, Failure, Prompt, Reply
from servers.asking import adapter_for, ask, attempt, ended, limits
from servers.formats import Format
from servers.small_model import Setting, SmallModel, require_python

CONTEXT_TOKENS = 1_024
SCHEMA = {
    "type": "object",
    "properties": {
        "colour": {"enum": ["red", "green", "blue"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["colour", "count"],
    "additionalProperties": False,
}
ROOMY = limits(max_tokens=300, timeout_ms=60_000)
formats = pytest.mark.parametrize("format_", Format)
modes = pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "whole"])


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
def test_an_answer_comes_with_its_usage_and_its_end(model: SmallModel, format_: Format, is_stream: bool) -> None:
    reply = ask(adapter_of(model, format_, is_stream), attempt(limits=ROOMY))

    assert (reply.failure, reply.model, reply.finish) == (None, "small", format_.whole)
    assert reply.content.decode()
    assert reply.usage is not None
    assert 0 < reply.usage.output_tokens <= ROOMY.max_tokens


def test_the_same_question_costs_the_same_input_in_both_formats_cached_or_not(model: SmallModel) -> None:
    asked = attempt(Prompt(text="Name three colours."), limits(max_tokens=1))
    pairs = [(format_, is_stream) for format_ in Format for is_stream in (True, False)]

    usages = [ask(adapter_of(model, format_, is_stream), asked).usage for format_, is_stream in pairs]

    assert None not in usages
    assert len({usage.input_tokens for usage in usages if usage}) == 1
    assert all(0 < usage.cached_input_tokens < usage.input_tokens for usage in usages[1:] if usage)


@modes
def test_an_answer_fits_the_schema_that_was_sent(model: SmallModel, is_stream: bool) -> None:
    asked = attempt(Prompt(text="Which colour, and how many?", output_schema=SCHEMA), ROOMY)

    reply = ask(adapter_of(model, Format.OPENAI, is_stream), asked)

    assert reply.failure is None
    jsonschema.validate(json.loads(reply.content), SCHEMA)


@modes
def test_a_server_of_messages_that_knows_no_schemas_answers_all_the_same(model: SmallModel, is_stream: bool) -> None:
    asked = attempt(Prompt(text="Say hello.", output_schema=SCHEMA), ROOMY)

    reply = ask(adapter_of(model, Format.ANTHROPIC, is_stream), asked)

    assert reply.failure is None or reply.failure.kind is ErrorKind.OUTPUT_LIMIT
    assert reply.content
    assert reply.usage is not None


@modes
def test_a_schema_that_the_server_cannot_use_is_an_invalid_request(model: SmallModel, is_stream: bool) -> None:
    asked = attempt(Prompt(text="Say hello.", output_schema={"type": "nonsense"}))

    assert kind_of(ask(adapter_of(model, Format.OPENAI, is_stream), asked)) is ErrorKind.INVALID_REQUEST


@formats
@modes
def test_a_wrong_key_is_refused(
    model: SmallModel, format_: Format, is_stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "wrong")

    assert kind_of(ask(adapter_of(model, format_, is_stream))) is ErrorKind.AUTH


@formats
@modes
def test_too_long_a_question_is_a_matter_of_context(model: SmallModel, format_: Format, is_stream: bool) -> None:
    asked = attempt(Prompt(text="word " * 2 * CONTEXT_TOKENS))

    assert kind_of(ask(adapter_of(model, format_, is_stream), asked)) is ErrorKind.CONTEXT_LENGTH


@formats
@modes
def test_an_answer_is_cut_at_its_limit(model: SmallModel, format_: Format, is_stream: bool) -> None:
    reply = ask(adapter_of(model, format_, is_stream), attempt(limits=limits(max_tokens=2)))

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the answer was cut at 2 tokens")
    assert reply.finish == format_.cut
    assert reply.content
    assert reply.usage is not None
    assert reply.usage.output_tokens == 2


@formats
def test_a_probe_sees_the_server_and_its_key(
    model: SmallModel, format_: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = adapter_of(model, format_)

    assert ended(adapter, adapter.probe()) is None

    monkeypatch.setenv("MODEL_KEY", "wrong")
    assert ended(adapter, adapter.probe()) == "the key in MODEL_KEY is refused"


def test_a_server_that_is_killed_in_the_middle_of_its_answers_is_the_networks_fault() -> None:
    with SmallModel(require_python(), Setting(n_ctx=8_192, n_parallel=4, is_endless=True)) as model:
        streams, others = asyncio.run(killed_while_it_answers(model))

    assert [reply.failure for reply in streams] == [Failure(ErrorKind.NETWORK, "the answer was cut off")] * 2
    assert all(reply.content for reply in streams)
    assert [kind_of(reply) for reply in others] == [ErrorKind.NETWORK] * 2


async def killed_while_it_answers(model: SmallModel) -> tuple[list[Reply], list[Reply]]:
    """The replies that were streamed, and those that were to come at once."""
    modes = [(format_, is_stream) for is_stream in (True, False) for format_ in Format]
    adapters = [adapter_of(model, *mode) for mode in modes]
    asked = attempt(limits=limits(max_tokens=2_000, timeout_ms=120_000))
    calls = [asyncio.create_task(adapter.answer(asked)) for adapter in adapters]
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
