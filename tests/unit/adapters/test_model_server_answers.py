"""Rules that both formats share, about the end of an answer and its usage."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_adapters.anthropic import Messages
from forum_adapters.base import Adapter, ErrorKind, Failure, Usage
from forum_adapters.models.dialect import Dialect
from forum_adapters.models.draft import Draft
from forum_adapters.models.failures import CallFailed
from forum_adapters.openai import ChatCompletions
from servers.adapter_calls import adapter_for, ask_at
from servers.faulty import FaultyServer, does, says
from servers.formats import Format
from servers.http_bytes import json_response, response

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
COUNT_FIELDS = {
    Format.OPENAI: ("prompt_tokens", "completion_tokens", "prompt_tokens_details"),
    Format.ANTHROPIC: ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
}
DIALECTS: dict[Format, Dialect] = {Format.OPENAI: ChatCompletions(), Format.ANTHROPIC: Messages()}
modes = pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "complete"])
formats = pytest.mark.parametrize("format_", Format)


@formats
def test_a_model_adapter_is_an_adapter(format_: Format) -> None:
    assert isinstance(adapter_for(format_, "http://127.0.0.1/v1"), Adapter)


@formats
@modes
def test_a_reply_has_the_text_the_model_the_finish_reason_and_the_usage(format_: Format, is_stream: bool) -> None:
    with FaultyServer() as server:
        server.will(says("Grüße, ", "\U0001f600", tokens=(100, 60, 7), model="m-1"))
        reply = ask_at(format_, server.base_url, stream=is_stream)

    assert (reply.content.decode(), reply.failure) == ("Grüße, \U0001f600", None)
    assert (reply.usage, reply.model, reply.finish) == (Usage(100, 60, 7), "m-1", format_.complete_reason)


@formats
@modes
def test_an_answer_without_usage_has_no_usage(format_: Format, is_stream: bool) -> None:
    with FaultyServer() as server:
        server.will(says(tokens=None))
        reply = ask_at(format_, server.base_url, stream=is_stream)

    assert (reply.failure, reply.usage) == (None, None)


@formats
@modes
@pytest.mark.parametrize(
    ("finish", "kind", "message"),
    [
        ("length", ErrorKind.OUTPUT_LIMIT, "the answer was truncated at 5 tokens"),
        ("max_tokens", ErrorKind.OUTPUT_LIMIT, "the answer was truncated at 5 tokens"),
        (
            "model_context_window_exceeded",
            ErrorKind.CONTEXT_LENGTH,
            "the answer was truncated because the model's context was full",
        ),
        ("content_filter", ErrorKind.CONTENT_FILTER, "the server's content filter withheld the answer"),
        ("refusal", ErrorKind.CONTENT_FILTER, "the server's content filter withheld the answer"),
        ("tool_calls", ErrorKind.MALFORMED, "the model called a tool, but none was offered"),
        ("tool_use", ErrorKind.MALFORMED, "the model called a tool, but none was offered"),
        ("fatigue", ErrorKind.MALFORMED, "the answer has an unknown finish reason: 'fatigue'"),
    ],
)
def test_an_incomplete_answer_is_kept_with_its_reason(
    format_: Format, is_stream: bool, finish: str, kind: ErrorKind, message: str
) -> None:
    with FaultyServer() as server:
        server.will(says("so ", "far", finish=finish))
        reply = ask_at(format_, server.base_url, stream=is_stream)

    assert reply.failure == Failure(kind, message)
    assert (reply.content, reply.finish, reply.usage) == (b"so far", finish, Usage(10, 4, 5))


@formats
@modes
def test_without_usage_the_message_names_the_token_limit(format_: Format, is_stream: bool) -> None:
    with FaultyServer() as server:
        server.will(says(tokens=None, finish=format_.truncated_reason))
        reply = ask_at(format_, server.base_url, stream=is_stream)

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the answer was truncated at 64 tokens")


@formats
@modes
@pytest.mark.parametrize("finish", [None, "cut"])
def test_an_empty_answer_is_malformed_unless_its_finish_reason_explains_it(
    format_: Format, is_stream: bool, finish: str | None
) -> None:
    with FaultyServer() as server:
        server.will(says("", finish=finish and format_.truncated_reason))
        reply = ask_at(format_, server.base_url, stream=is_stream)

    assert reply.failure is not None
    assert reply.failure.kind is (ErrorKind.OUTPUT_LIMIT if finish else ErrorKind.MALFORMED)


@formats
@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"choices": [], "content": {}}', b"[" * 100_000]
)
def test_a_malformed_body_is_a_network_error(format_: Format, body: bytes) -> None:
    with FaultyServer() as server:
        server.will(does(response(200, body)))
        reply = ask_at(format_, server.base_url)

    assert reply.failure is not None
    assert (reply.content, reply.failure.kind) == (b"", ErrorKind.NETWORK)


@formats
@modes
def test_a_surrogate_pair_may_be_split_but_a_lone_surrogate_is_malformed(format_: Format, is_stream: bool) -> None:
    with FaultyServer() as server:
        server.will(says("\ud83d", "\ude00"), says("a\ud83d"))
        complete = ask_at(format_, server.base_url, stream=is_stream)
        incomplete = ask_at(format_, server.base_url, stream=is_stream)

    assert (complete.content.decode(), complete.failure) == ("\U0001f600", None)
    assert incomplete.content.decode() == "a\ufffd"
    assert incomplete.failure == Failure(ErrorKind.MALFORMED, "the server sent an incomplete character")


@formats
@pytest.mark.parametrize("value", [-1, 1.5, "7", True, 2**53, [], {}])
def test_an_impossible_count_is_ignored(format_: Format, value: Any) -> None:
    counts = {"prompt_tokens": 9, "completion_tokens": 5, "input_tokens": 9, "output_tokens": 5}
    usages = [{**counts, name: value} for name in COUNT_FIELDS[format_] if "details" not in name]
    usages += [{**counts, "prompt_tokens_details": {"cached_tokens": value}}] if format_ is Format.OPENAI else []

    assert [DIALECTS[format_].usage(usage) for usage in usages] == [None] * len(usages)


@formats
@given(counts=st.dictionaries(st.sampled_from([name for names in COUNT_FIELDS.values() for name in names]), JSON))
def test_any_usage_document_is_handled(format_: Format, counts: dict[str, Any]) -> None:
    usage = DIALECTS[format_].usage(counts)

    assert usage is None or 0 <= usage.cached_input_tokens <= usage.input_tokens <= 2**53 - 1


@formats
@given(document=st.dictionaries(st.sampled_from(["choices", "content", "model", "usage", "stop_reason"]), JSON))
def test_any_answer_document_is_handled(format_: Format, document: dict[str, Any]) -> None:
    draft = Draft(1_000)
    try:
        DIALECTS[format_].read_answer(document, draft)
        draft.check(0)
    except CallFailed as failed:
        assert failed.failure.kind in ErrorKind


@formats
def test_a_refused_call_closes_its_connection(format_: Format) -> None:
    with FaultyServer() as server:
        server.will(does(json_response(500, {})))
        ask_at(format_, server.base_url)

        assert server.wait_until_idle(20)
