"""Streamed answers, complete and cut off."""

import asyncio
import json
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure, Reply, Usage
from servers.adapter_calls import adapter_for, ask, ask_at, attempt, limits, run_and_close
from servers.faulty import Act, Cut, FaultyServer, Pause, does, says
from servers.formats import DONE, Format, ModelAnswer, complete_answer, event, streamed_answer
from servers.http_bytes import END_OF_CHUNKS, chunk, chunked, json_response, stream_head


def cut_off(server: FaultyServer) -> Failure:
    message = f"the connection to 127.0.0.1:{server.port} ended before the answer was complete"
    return Failure(ErrorKind.NETWORK, message)


ANSWER = ModelAnswer(("Grüße", " an ", "\U0001f600"))
USAGE = Usage(10, 4, 5)


def events_up_to_last_text(format_: Format, answer: ModelAnswer = ANSWER) -> list[bytes]:
    """Return the events up to the last piece of text."""
    later_events = {Format.OPENAI: 3, Format.ANTHROPIC: 3}[format_]
    return streamed_answer(format_, answer)[:-later_events]


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000_000])
def test_a_stream_may_be_split_anywhere_even_inside_a_character(format_: Format, size: int) -> None:
    stream = b"".join(streamed_answer(format_, ANSWER))
    with FaultyServer() as server:
        server.will(does(*chunked(stream[at : at + size] for at in range(0, len(stream), size))))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (ANSWER.text, None, USAGE)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_any_newline_and_comments_are_accepted(format_: Format, newline: bytes) -> None:
    events = [b": keep alive\n\n", *streamed_answer(format_, ANSWER), b": bye\n\n"]
    stream = b"\xef\xbb\xbf" + b"".join(events).replace(b"\n", newline)
    with FaultyServer() as server:
        server.will(does(*chunked([stream])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (ANSWER.text, None, USAGE)


@pytest.mark.parametrize("format_", Format)
def test_data_may_span_several_lines(format_: Format) -> None:
    events = [
        b"".join(b"data: %b\n" % line for line in json.dumps(json.loads(data), indent=1).encode().split(b"\n")) + b"\n"
        for event_ in streamed_answer(format_, ANSWER)
        if (data := event_.partition(b"data: ")[2].strip()) != b"[DONE]"
    ]
    with FaultyServer() as server:
        server.will(does(*chunked([*events, DONE] if format_ is Format.OPENAI else events)))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure) == (ANSWER.text, None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("end", [Cut(), Cut(is_reset=True), END_OF_CHUNKS])
def test_a_stream_that_stops_in_the_middle_is_cut_off(format_: Format, end: Act) -> None:
    with FaultyServer() as server:
        pieces = [chunk(piece) for piece in events_up_to_last_text(format_)]
        server.will(does(stream_head(), *pieces, Pause(0.05), end))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure) == (ANSWER.text, cut_off(server))
    # One format reports input tokens before the answer. The call may have cost more than that.
    assert reply.usage is None


@pytest.mark.parametrize("format_", Format)
def test_a_stream_that_stops_inside_an_event_is_cut_off(format_: Format) -> None:
    stream = b"".join(events_up_to_last_text(format_))[:-20]
    with FaultyServer() as server:
        server.will(does(*chunked([stream])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure) == ("Grüße an ", cut_off(server))


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("end", [Cut(), END_OF_CHUNKS])
def test_an_answer_with_a_finish_reason_is_complete_without_an_end_marker(format_: Format, end: Act) -> None:
    events = [chunk(piece) for piece in streamed_answer(format_, ANSWER)[:-1]]
    with FaultyServer() as server:
        server.will(does(stream_head(), *events, end))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (ANSWER.text, None, USAGE)
    assert reply.finish == format_.complete_reason


def test_an_answer_with_a_finish_reason_is_complete_without_usage() -> None:
    events = streamed_answer(Format.OPENAI, ANSWER)[:-2]
    with FaultyServer() as server:
        server.will(does(*chunked(events)))
        reply = ask_at(Format.OPENAI, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (ANSWER.text, None, None)


@pytest.mark.parametrize("format_", Format)
def test_an_answer_cut_at_its_limit_is_reported_without_an_end_marker(format_: Format) -> None:
    events = streamed_answer(format_, ModelAnswer(("so far",), finish=format_.truncated_reason))[:-1]
    with FaultyServer() as server:
        server.will(does(*chunked(events)))
        reply = ask_at(format_, server.base_url)

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the answer was truncated at 5 tokens")


@pytest.mark.parametrize("format_", Format)
def test_an_answer_with_a_finish_reason_is_complete_at_the_timeout(format_: Format) -> None:
    events = [chunk(piece) for piece in streamed_answer(format_, ANSWER)[:-1]]
    with FaultyServer() as server:
        server.will(does(stream_head(), *events, Pause(60)))
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=3_000)))

    assert (reply.content.decode(), reply.failure, reply.usage) == (ANSWER.text, None, USAGE)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("end", [-1, -2])
def test_an_end_marker_needs_no_empty_line(format_: Format, end: int) -> None:
    stream = b"".join(streamed_answer(format_, ANSWER))[:end]
    with FaultyServer() as server:
        server.will(does(*chunked([stream])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure) == (ANSWER.text, None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (
            {"type": "overloaded_error", "message": "busy"},
            Failure(ErrorKind.MODEL_UNAVAILABLE, "the server aborted the answer: busy"),
        ),
        (
            {"type": "rate_limit_error", "message": "slow"},
            Failure(ErrorKind.RATE_LIMITED, "the server aborted the answer: slow"),
        ),
        (
            {"code": 503, "message": "busy"},
            Failure(ErrorKind.MODEL_UNAVAILABLE, "the server aborted the answer: busy"),
        ),
        (
            {"code": 429, "message": "slow"},
            Failure(ErrorKind.RATE_LIMITED, "the server aborted the answer: slow"),
        ),
        (
            {"code": "500", "message": "oh no"},
            Failure(ErrorKind.MODEL_UNAVAILABLE, "the server aborted the answer: oh no"),
        ),
        (
            {"type": "invalid_request_error", "message": "bad"},
            Failure(ErrorKind.INVALID_REQUEST, "the server aborted the answer: bad"),
        ),
    ],
)
@pytest.mark.parametrize("shape", ["named", "in a chunk", "bare"])
def test_an_error_in_a_stream_has_its_kind_and_keeps_earlier_content(
    format_: Format, error: dict[str, Any], failure: Failure, shape: str
) -> None:
    """An event may be named an error, contain one, or both."""
    errors = {
        "named": event({"type": "error", "error": error}, "error"),
        "in a chunk": event({"model": "m", "choices": [], "error": error}),
        "bare": event(error, "error"),
    }
    with FaultyServer() as server:
        server.will(does(*chunked([*events_up_to_last_text(format_), errors[shape]])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (ANSWER.text, failure, None)


def test_an_error_in_a_stream_may_be_in_a_choice() -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "slow"}}
    with FaultyServer() as server:
        server.will(does(*chunked([*events_up_to_last_text(Format.OPENAI), event({"choices": [choice]})])))
        reply = ask_at(Format.OPENAI, server.base_url)

    failure = Failure(ErrorKind.RATE_LIMITED, "the server aborted the answer: slow")
    assert (reply.content.decode(), reply.failure) == (ANSWER.text, failure)


def test_an_error_before_any_text_keeps_the_reported_usage() -> None:
    error = event({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "error")
    with FaultyServer() as server:
        server.will(does(*chunked([streamed_answer(Format.ANTHROPIC, ANSWER)[0], error])))
        reply = ask_at(Format.ANTHROPIC, server.base_url)

    failure = Failure(ErrorKind.MODEL_UNAVAILABLE, "the server aborted the answer: busy")
    assert (reply.content, reply.failure, reply.usage) == (b"", failure, Usage(10, 4, 1))


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize(
    ("label", "kind"),
    [("overloaded_error", ErrorKind.MODEL_UNAVAILABLE), ("rate_limit_error", ErrorKind.RATE_LIMITED)],
)
def test_an_error_instead_of_an_answer_has_its_kind(format_: Format, label: str, kind: ErrorKind) -> None:
    error = event({"type": "error", "error": {"type": label, "message": "busy"}}, "error")
    with FaultyServer() as server:
        server.will(does(*chunked([b": welcome\n\n", error])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content, reply.failure) == (b"", Failure(kind, "the server aborted the answer: busy"))


def test_usage_in_the_middle_of_a_stream_is_not_the_total() -> None:
    """Some servers report the usage so far in every event."""
    choice = {"index": 0, "delta": {"content": "so far"}, "finish_reason": None}
    partial_usage = event({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}})
    with FaultyServer() as server:
        server.will(does(*chunked([partial_usage])))
        reply = ask_at(Format.OPENAI, server.base_url)

    assert (reply.content, reply.failure, reply.usage) == (b"so far", cut_off(server), None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("data", [b"{not json}", b"[1]", b'"text"', b"\xff", b"NaN", b'{"a": ' * 100_000])
def test_an_event_that_is_not_an_object_is_a_network_error(format_: Format, data: bytes) -> None:
    with FaultyServer() as server:
        server.will(does(*chunked([*events_up_to_last_text(format_), b"data: %b\n\n" % data])))
        reply = ask_at(format_, server.base_url)

    assert reply.failure is not None
    assert (reply.content.decode(), reply.failure.kind) == (ANSWER.text, ErrorKind.NETWORK)


@pytest.mark.parametrize("format_", Format)
def test_a_connection_is_reused(format_: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forum_adapters.models.model_server._IDLE_S", 600)
    with FaultyServer() as server:
        adapter = adapter_for(format_, server.base_url, stream=False)

        async def three_times() -> None:
            for _ in range(3):
                assert (await adapter.answer(attempt())).failure is None

        run_and_close(adapter, three_times())

    assert (len(server.requests), server.connections) == (3, 1)


@pytest.mark.parametrize("format_", Format)
def test_a_server_that_disconnects_after_a_stream_loses_no_call(format_: Format) -> None:
    """llama.cpp disconnects unannounced shortly after the stream. A later call on that connection would be lost."""
    with FaultyServer(lambda request: [*says()(request), Pause(60)]) as server:
        adapter = adapter_for(format_, server.base_url)

        async def three_times() -> list[Reply]:
            return [await adapter.answer(attempt()) for _ in range(3)]

        assert [reply.failure for reply in run_and_close(adapter, three_times())] == [None] * 3

    assert [request.headers["connection"] for request in server.requests] == ["close"] * 3


@pytest.mark.parametrize("format_", Format)
def test_a_server_that_stays_connected_does_not_delay_a_complete_answer(format_: Format) -> None:
    events = [chunk(piece) for piece in streamed_answer(format_, ANSWER)]
    with FaultyServer() as server:
        server.will(does(stream_head(), *events, Pause(60)))
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=30_000)))

    assert (reply.content.decode(), reply.failure) == (ANSWER.text, None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("is_requested", [True, False])
def test_the_server_decides_whether_it_streams(format_: Format, is_requested: bool) -> None:
    streamed = does(*chunked(streamed_answer(format_, ANSWER)))
    complete = does(json_response(200, complete_answer(format_, ANSWER)))
    with FaultyServer() as server:
        server.will(complete if is_requested else streamed)
        reply = ask_at(format_, server.base_url, stream=is_requested)

    assert (reply.content.decode(), reply.failure, reply.usage) == (ANSWER.text, None, USAGE)


def test_cookies_are_not_sent_back() -> None:
    with FaultyServer() as server:
        server.will(does(stream_head({"set-cookie": "who=you; Path=/"}), chunk(DONE), END_OF_CHUNKS))
        adapter = adapter_for(Format.OPENAI, server.base_url)

        async def twice() -> None:
            await adapter.answer(attempt())
            await adapter.answer(attempt())

        run_and_close(adapter, twice())

    assert [request.headers.get("cookie") for request in server.requests] == [None, None]


@pytest.mark.parametrize("format_", Format)
def test_a_connection_that_the_server_closed_is_not_reused(format_: Format) -> None:
    with FaultyServer() as server:
        server.will(lambda request: [*says()(request), Cut()])
        adapter = adapter_for(format_, server.base_url)

        async def twice() -> list[Reply]:
            first = await adapter.answer(attempt())
            await asyncio.to_thread(server.wait_until_idle, 20)
            return [first, await adapter.answer(attempt())]

        assert [reply.failure for reply in run_and_close(adapter, twice())] == [None, None]


def test_an_adapter_can_be_used_again_after_it_was_closed() -> None:
    with FaultyServer() as server:
        adapter = adapter_for(Format.OPENAI, server.base_url)

        replies = [ask(adapter), ask(adapter)]

    assert [reply.failure for reply in replies] == [None, None]
