"""Answers that come piece by piece, and stop where they should not."""

import asyncio
import json
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure, Reply, Usage
from servers.adapter_calls import adapter_for, ask, ask_at, attempt, limits, run_and_close
from servers.faulty import Act, Cut, FaultyServer, Pause, does, says
from servers.formats import DONE, Format, ModelAnswer, event, streamed_answer, whole_answer
from servers.http_bytes import END_OF_CHUNKS, chunk, chunked, json_response, stream_head

CUT_OFF = Failure(ErrorKind.NETWORK, "the answer was cut off")
SAID = ModelAnswer(("Grüße", " an ", "\U0001f600"))
COUNTED = Usage(10, 4, 5)


def before_the_end(format_: Format, said: ModelAnswer = SAID) -> list[bytes]:
    """The events up to the last piece of text, of those that come after it none."""
    after = {Format.OPENAI: 3, Format.ANTHROPIC: 3}[format_]
    return streamed_answer(format_, said)[:-after]


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000_000])
def test_pieces_may_be_cut_anywhere_even_inside_of_a_character(format_: Format, size: int) -> None:
    stream = b"".join(streamed_answer(format_, SAID))
    with FaultyServer() as server:
        server.will(does(*chunked(stream[at : at + size] for at in range(0, len(stream), size))))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (SAID.text, None, COUNTED)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_lines_may_end_in_any_way_and_comments_stand_between_them(format_: Format, line_end: bytes) -> None:
    events = [b": keep alive\n\n", *streamed_answer(format_, SAID), b": bye\n\n"]
    stream = b"\xef\xbb\xbf" + b"".join(events).replace(b"\n", line_end)
    with FaultyServer() as server:
        server.will(does(*chunked([stream])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (SAID.text, None, COUNTED)


@pytest.mark.parametrize("format_", Format)
def test_data_may_stand_on_several_lines(format_: Format) -> None:
    spread = [
        b"".join(b"data: %b\n" % line for line in json.dumps(json.loads(data), indent=1).encode().split(b"\n")) + b"\n"
        for whole in streamed_answer(format_, SAID)
        if (data := whole.partition(b"data: ")[2].strip()) != b"[DONE]"
    ]
    with FaultyServer() as server:
        server.will(does(*chunked([*spread, DONE] if format_ is Format.OPENAI else spread)))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure) == (SAID.text, None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("end", [Cut(), Cut(is_reset=True), END_OF_CHUNKS])
def test_a_stream_that_stops_in_the_middle_was_cut_off(format_: Format, end: Act) -> None:
    with FaultyServer() as server:
        pieces = [chunk(piece) for piece in before_the_end(format_)]
        server.will(does(stream_head(), *pieces, Pause(0.05), end))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure) == (SAID.text, CUT_OFF)
    # One format counts the input before it answers: that is not all that the call may have cost.
    assert reply.usage is None


@pytest.mark.parametrize("format_", Format)
def test_a_stream_that_stops_inside_of_an_event_was_cut_off(format_: Format) -> None:
    stream = b"".join(before_the_end(format_))[:-20]
    with FaultyServer() as server:
        server.will(does(*chunked([stream])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure) == ("Grüße an ", CUT_OFF)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("end", [Cut(), END_OF_CHUNKS])
def test_an_answer_that_says_why_it_ended_is_whole_without_an_end_marker(format_: Format, end: Act) -> None:
    events = [chunk(piece) for piece in streamed_answer(format_, SAID)[:-1]]
    with FaultyServer() as server:
        server.will(does(stream_head(), *events, end))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (SAID.text, None, COUNTED)
    assert reply.finish == format_.whole


def test_an_answer_that_says_why_it_ended_is_whole_without_a_count() -> None:
    events = streamed_answer(Format.OPENAI, SAID)[:-2]
    with FaultyServer() as server:
        server.will(does(*chunked(events)))
        reply = ask_at(Format.OPENAI, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (SAID.text, None, None)


@pytest.mark.parametrize("format_", Format)
def test_an_answer_that_was_cut_at_its_limit_says_so_without_an_end_marker(format_: Format) -> None:
    events = streamed_answer(format_, ModelAnswer(("so far",), finish=format_.cut))[:-1]
    with FaultyServer() as server:
        server.will(does(*chunked(events)))
        reply = ask_at(format_, server.base_url)

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the answer was cut at 5 tokens")


@pytest.mark.parametrize("format_", Format)
def test_an_answer_that_says_why_it_ended_is_whole_when_its_time_is_over(format_: Format) -> None:
    events = [chunk(piece) for piece in streamed_answer(format_, SAID)[:-1]]
    with FaultyServer() as server:
        server.will(does(stream_head(), *events, Pause(60)))
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=3_000)))

    assert (reply.content.decode(), reply.failure, reply.usage) == (SAID.text, None, COUNTED)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("kept", [-1, -2])
def test_an_end_marker_needs_no_empty_line(format_: Format, kept: int) -> None:
    stream = b"".join(streamed_answer(format_, SAID))[:kept]
    with FaultyServer() as server:
        server.will(does(*chunked([stream])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure) == (SAID.text, None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (
            {"type": "overloaded_error", "message": "busy"},
            Failure(ErrorKind.MODEL_UNAVAILABLE, "the server broke off: busy"),
        ),
        (
            {"type": "rate_limit_error", "message": "slow"},
            Failure(ErrorKind.RATE_LIMITED, "the server broke off: slow"),
        ),
        (
            {"code": 503, "message": "busy"},
            Failure(ErrorKind.MODEL_UNAVAILABLE, "the server broke off: busy"),
        ),
        (
            {"code": 429, "message": "slow"},
            Failure(ErrorKind.RATE_LIMITED, "the server broke off: slow"),
        ),
        (
            {"code": "500", "message": "oh no"},
            Failure(ErrorKind.MODEL_UNAVAILABLE, "the server broke off: oh no"),
        ),
        (
            {"type": "invalid_request_error", "message": "bad"},
            Failure(ErrorKind.INVALID_REQUEST, "the server broke off: bad"),
        ),
    ],
)
@pytest.mark.parametrize("shape", ["named", "in a chunk", "bare"])
def test_an_error_in_the_middle_has_its_kind_and_keeps_what_came_before_it(
    format_: Format, error: dict[str, Any], failure: Failure, shape: str
) -> None:
    """An event may be called an error, hold one, or both."""
    told = {
        "named": event({"type": "error", "error": error}, "error"),
        "in a chunk": event({"model": "m", "choices": [], "error": error}),
        "bare": event(error, "error"),
    }
    with FaultyServer() as server:
        server.will(does(*chunked([*before_the_end(format_), told[shape]])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content.decode(), reply.failure, reply.usage) == (SAID.text, failure, None)


def test_an_error_in_the_middle_may_stand_in_a_choice() -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "slow"}}
    with FaultyServer() as server:
        server.will(does(*chunked([*before_the_end(Format.OPENAI), event({"choices": [choice]})])))
        reply = ask_at(Format.OPENAI, server.base_url)

    failure = Failure(ErrorKind.RATE_LIMITED, "the server broke off: slow")
    assert (reply.content.decode(), reply.failure) == (SAID.text, failure)


def test_a_server_that_gives_up_before_the_first_word_is_paid_what_it_counted() -> None:
    error = event({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "error")
    with FaultyServer() as server:
        server.will(does(*chunked([streamed_answer(Format.ANTHROPIC, SAID)[0], error])))
        reply = ask_at(Format.ANTHROPIC, server.base_url)

    failure = Failure(ErrorKind.MODEL_UNAVAILABLE, "the server broke off: busy")
    assert (reply.content, reply.failure, reply.usage) == (b"", failure, Usage(10, 4, 1))


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize(
    ("label", "kind"),
    [("overloaded_error", ErrorKind.MODEL_UNAVAILABLE), ("rate_limit_error", ErrorKind.RATE_LIMITED)],
)
def test_an_error_in_place_of_an_answer_is_a_refusal(format_: Format, label: str, kind: ErrorKind) -> None:
    error = event({"type": "error", "error": {"type": label, "message": "busy"}}, "error")
    with FaultyServer() as server:
        server.will(does(*chunked([b": welcome\n\n", error])))
        reply = ask_at(format_, server.base_url)

    assert (reply.content, reply.failure) == (b"", Failure(kind, "the server broke off: busy"))


def test_a_running_count_is_not_that_of_the_whole() -> None:
    """Some servers tell in every event what was used so far."""
    choice = {"index": 0, "delta": {"content": "so far"}, "finish_reason": None}
    running = event({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}})
    with FaultyServer() as server:
        server.will(does(*chunked([running])))
        reply = ask_at(Format.OPENAI, server.base_url)

    assert (reply.content, reply.failure, reply.usage) == (b"so far", CUT_OFF, None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("data", [b"{not json}", b"[1]", b'"text"', b"\xff", b"NaN", b'{"a": ' * 100_000])
def test_an_event_that_is_no_object_is_no_answer_of_the_model(format_: Format, data: bytes) -> None:
    with FaultyServer() as server:
        server.will(does(*chunked([*before_the_end(format_), b"data: %b\n\n" % data])))
        reply = ask_at(format_, server.base_url)

    assert reply.failure is not None
    assert (reply.content.decode(), reply.failure.kind) == (SAID.text, ErrorKind.NETWORK)


@pytest.mark.parametrize("format_", Format)
def test_a_connection_is_used_again(format_: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forum_adapters.models.model_server._IDLE_S", 600)
    with FaultyServer() as server:
        adapter = adapter_for(format_, server.base_url, stream=False)

        async def three_times() -> None:
            for _ in range(3):
                assert (await adapter.answer(attempt())).failure is None

        run_and_close(adapter, three_times())

    assert (len(server.received), server.connections) == (3, 1)


@pytest.mark.parametrize("format_", Format)
def test_a_server_that_hangs_up_after_a_stream_loses_no_call(format_: Format) -> None:
    """As llama.cpp's does, a moment after the end and without a word. What comes on that connection meets nobody."""
    with FaultyServer(lambda received: [*says()(received), Pause(60)]) as server:
        adapter = adapter_for(format_, server.base_url)

        async def three_times() -> list[Reply]:
            return [await adapter.answer(attempt()) for _ in range(3)]

        assert [reply.failure for reply in run_and_close(adapter, three_times())] == [None] * 3

    assert [received.headers["connection"] for received in server.received] == ["close"] * 3


@pytest.mark.parametrize("format_", Format)
def test_a_server_that_does_not_hang_up_does_not_hold_a_whole_answer_back(format_: Format) -> None:
    events = [chunk(piece) for piece in streamed_answer(format_, SAID)]
    with FaultyServer() as server:
        server.will(does(stream_head(), *events, Pause(60)))
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=30_000)))

    assert (reply.content.decode(), reply.failure) == (SAID.text, None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("is_asked_for", [True, False])
def test_the_server_decides_whether_it_streams(format_: Format, is_asked_for: bool) -> None:
    streamed = does(*chunked(streamed_answer(format_, SAID)))
    whole = does(json_response(200, whole_answer(format_, SAID)))
    with FaultyServer() as server:
        server.will(whole if is_asked_for else streamed)
        reply = ask_at(format_, server.base_url, stream=is_asked_for)

    assert (reply.content.decode(), reply.failure, reply.usage) == (SAID.text, None, COUNTED)


def test_no_cookie_ties_one_call_to_the_next() -> None:
    with FaultyServer() as server:
        server.will(does(stream_head({"set-cookie": "who=you; Path=/"}), chunk(DONE), END_OF_CHUNKS))
        adapter = adapter_for(Format.OPENAI, server.base_url)

        async def twice() -> None:
            await adapter.answer(attempt())
            await adapter.answer(attempt())

        run_and_close(adapter, twice())

    assert [received.headers.get("cookie") for received in server.received] == [None, None]


@pytest.mark.parametrize("format_", Format)
def test_a_connection_that_the_server_closed_is_not_used_again(format_: Format) -> None:
    with FaultyServer() as server:
        server.will(lambda received: [*says()(received), Cut()])
        adapter = adapter_for(format_, server.base_url)

        async def twice() -> list[Reply]:
            first = await adapter.answer(attempt())
            await asyncio.to_thread(server.wait_until_idle, 20)
            return [first, await adapter.answer(attempt())]

        assert [reply.failure for reply in run_and_close(adapter, twice())] == [None, None]


def test_an_adapter_can_be_asked_again_after_it_was_closed() -> None:
    with FaultyServer() as server:
        adapter = adapter_for(Format.OPENAI, server.base_url)

        replies = [ask(adapter), ask(adapter)]

    assert [reply.failure for reply in replies] == [None, None]
