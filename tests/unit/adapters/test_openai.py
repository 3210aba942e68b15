"""The Chat Completions format: its requests, and answers that only this format has."""

from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure, Prompt, Usage
from forum_adapters.openai import ChatCompletions
from servers.adapter_calls import ask_at, attempt
from servers.faulty import FaultyServer, does
from servers.formats import DONE, Format, event
from servers.http_bytes import chunked, json_response

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
modes = pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "complete"])


def sent_request(prompt: Prompt, **settings: Any) -> dict[str, Any]:
    with FaultyServer() as server:
        ask_at(Format.OPENAI, server.base_url, attempt(prompt), **settings)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    document: dict[str, Any] = request.document
    return document


def reply_to_document(
    message: dict[str, Any], finish: str | None = "stop", is_stream: bool = False, **fields: Any
) -> Any:
    choice = {"index": 0, "finish_reason": finish, "delta" if is_stream else "message": message}
    document = {"model": "m", "choices": [choice], **fields}
    with FaultyServer() as server:
        server.will(does(*chunked([event(document), DONE]) if is_stream else [json_response(200, document)]))
        return ask_at(Format.OPENAI, server.base_url, stream=is_stream)


def test_a_request_contains_every_field_that_is_set() -> None:
    body = sent_request(Prompt(system="Be brief.", text="Hi \ud800", output_schema=SCHEMA), temperature=0)

    assert body == {
        "model": "small",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi \ud800"}],
        "max_tokens": 64,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {"type": "json_schema", "json_schema": {"name": "output", "schema": SCHEMA}},
    }


def test_a_request_contains_only_fields_that_are_set() -> None:
    body = sent_request(Prompt(text="Hi"), stream=False)

    assert body == {
        "model": "small",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 64,
        "stream": False,
    }


def test_the_schema_can_be_left_out_of_the_request() -> None:
    assert "response_format" not in sent_request(Prompt(text="Hi", output_schema=SCHEMA), structured_output="prompt")


@modes
def test_a_refusal_counts_as_filtered_content(is_stream: bool) -> None:
    reply = reply_to_document({"content": None, "refusal": "I will not."}, is_stream=is_stream)

    assert (reply.content, reply.failure) == (b"", Failure(ErrorKind.CONTENT_FILTER, "the model refused: I will not."))


@modes
def test_reasoning_is_not_part_of_the_answer(is_stream: bool) -> None:
    reply = reply_to_document({"content": "yes", "reasoning_content": "hm, let me see"}, is_stream=is_stream)

    assert (reply.content, reply.failure) == (b"yes", None)


def test_text_may_come_in_blocks() -> None:
    reply = reply_to_document({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "yes"}]})

    assert (reply.content, reply.failure) == (b"yes", None)


@modes
def test_an_answer_without_a_finish_reason_is_malformed(is_stream: bool) -> None:
    reply = reply_to_document({"content": "yes"}, finish=None, is_stream=is_stream)

    assert reply.failure == Failure(ErrorKind.MALFORMED, "the answer has no finish reason")
    assert reply.content == b"yes"


@modes
@pytest.mark.parametrize(
    ("message", "fields", "field"),
    [
        ({"content": 7}, {}, "content"),
        ({"content": ["x"]}, {}, "content[0]"),
        ({"refusal": 7}, {}, "refusal"),
        ({}, {"model": 7}, "model"),
        ({}, {"choices": {"a": 1}}, "choices"),
        ({}, {"choices": ["x"]}, "choices[0]"),
        ({}, {"choices": [{"finish_reason": 7}]}, "finish_reason"),
    ],
)
def test_a_field_of_the_wrong_type_is_a_network_error(
    message: dict[str, Any], fields: dict[str, Any], field: str, is_stream: bool
) -> None:
    reply = reply_to_document(message, is_stream=is_stream, **fields)

    assert reply.failure.kind is ErrorKind.NETWORK
    assert reply.failure.message.startswith(f"'{field}' in the server's response is not ")


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 5}, Usage(9, 0, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}, Usage(9, 8, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {}}, Usage(9, 0, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 10}}, None),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": 3}, None),
        ({"prompt_tokens": 9}, None),
        ({"completion_tokens": 5}, None),
        ({}, None),
    ],
)
def test_cached_tokens_are_included_in_the_input_tokens(counts: dict[str, Any], usage: Usage | None) -> None:
    assert ChatCompletions().usage(counts) == usage


def test_the_last_usage_of_a_stream_counts() -> None:
    def chunk(content: str, tokens: int) -> bytes:
        choice = {"index": 0, "delta": {"content": content}, "finish_reason": "stop"}
        return event({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": tokens}})

    with FaultyServer() as server:
        server.will(does(*chunked([chunk("a", 1), chunk("b", 2), event({"choices": None, "usage": None}), DONE])))
        reply = ask_at(Format.OPENAI, server.base_url)

    assert (reply.content, reply.usage, reply.failure) == (b"ab", Usage(9, 0, 2), None)
