"""The Messages format: its requests, and answers that only this format has."""

from typing import Any

import pytest

from forum_adapters.anthropic import Messages
from forum_adapters.base import ErrorKind, Failure, Prompt, Reply, Usage
from servers.adapter_calls import ask_at, attempt
from servers.faulty import FaultyServer, does
from servers.formats import Format, ModelAnswer, event, streamed_answer
from servers.http_bytes import chunked, json_response

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}


def sent_request(prompt: Prompt, **settings: Any) -> dict[str, Any]:
    with FaultyServer() as server:
        ask_at(Format.ANTHROPIC, server.base_url, attempt(prompt), **settings)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    document: dict[str, Any] = request.document
    return document


def reply_to_document(**fields: Any) -> Reply:
    document = {"type": "message", "model": "m", "content": [], "stop_reason": "end_turn", **fields}
    with FaultyServer() as server:
        server.will(does(json_response(200, document)))
        return ask_at(Format.ANTHROPIC, server.base_url, stream=False)


def reply_to_stream(*documents: dict[str, Any]) -> Reply:
    """Return the reply to a stream with these events between the start and the end of an answer."""
    first, *_, end, stop = streamed_answer(Format.ANTHROPIC, ModelAnswer())
    events = [first, *(event(document, document["type"]) for document in documents), end, stop]
    with FaultyServer() as server:
        server.will(does(*chunked(events)))
        return ask_at(Format.ANTHROPIC, server.base_url)


def test_a_request_contains_every_field_that_is_set() -> None:
    body = sent_request(Prompt(system="Be brief.", text="Hi \ud800", output_schema=SCHEMA), temperature=0.5)

    assert body == {
        "model": "small",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Hi \ud800"}],
        "max_tokens": 64,
        "temperature": 0.5,
        "stream": True,
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
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
    assert "output_config" not in sent_request(Prompt(text="Hi", output_schema=SCHEMA), structured_output="prompt")


def test_only_text_blocks_are_part_of_the_answer() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "yes"},
        {"type": "text", "text": ", no"},
    ]

    assert reply_to_document(content=blocks).content == b"yes, no"


def test_only_text_deltas_are_part_of_the_answer() -> None:
    reply = reply_to_stream(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "h"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "ye"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "s"}},
        {"type": "ping"},
        {"type": "invented_tomorrow", "content_block": 7},
    )

    assert (reply.content, reply.failure, reply.usage) == (b"yes", None, Usage(10, 4, 5))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"content": "yes"}, "content"),
        ({"content": None}, "content"),
        ({"content": ["yes"]}, "content[0]"),
        ({"content": [{"type": "text", "text": 7}]}, "content[0].text"),
        ({"model": 7}, "model"),
        ({"stop_reason": ["end_turn"]}, "stop_reason"),
    ],
)
def test_a_field_of_the_wrong_type_is_a_network_error(fields: dict[str, Any], field: str) -> None:
    reply = reply_to_document(**fields)

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.NETWORK
    assert reply.failure.message.startswith(f"'{field}' in the server's response is not ")


@pytest.mark.parametrize(
    "document",
    [
        {"type": "message_start"},
        {"type": "content_block_start", "content_block": "x"},
        {"type": "content_block_delta"},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 7}},
        {"type": "message_delta", "delta": []},
    ],
)
def test_an_event_of_the_wrong_shape_is_a_network_error(document: dict[str, Any]) -> None:
    reply = reply_to_stream(document)

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.NETWORK


def test_an_answer_without_a_stop_reason_is_malformed() -> None:
    reply = reply_to_document(content=[{"type": "text", "text": "yes"}], stop_reason=None)

    assert reply.failure == Failure(ErrorKind.MALFORMED, "the answer has no finish reason")
    assert reply.content == b"yes"


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"input_tokens": 9, "output_tokens": 5}, Usage(9, 0, 5)),
        ({"input_tokens": 1, "cache_read_input_tokens": 31, "output_tokens": 5}, Usage(32, 31, 5)),
        (
            {"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 4, "output_tokens": 5},
            Usage(7, 2, 5),
        ),
        ({"input_tokens": 2**53 - 1, "cache_read_input_tokens": 1, "output_tokens": 5}, None),
        ({"input_tokens": 9}, None),
        ({"output_tokens": 5}, None),
        ({}, None),
    ],
)
def test_cached_tokens_are_added_to_the_input_tokens(counts: dict[str, Any], usage: Usage | None) -> None:
    assert Messages().usage(counts) == usage


def test_a_null_does_not_replace_a_count() -> None:
    reply = reply_to_stream(
        {"type": "content_block_start", "content_block": {"type": "text", "text": "yes"}},
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": None, "output_tokens": 3}},
    )

    assert (reply.failure, reply.usage) == (None, Usage(10, 4, 5))
