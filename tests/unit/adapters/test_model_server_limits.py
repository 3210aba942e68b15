"""The time and size limits of a call."""

import asyncio
import gzip
import threading
import time
import zlib
from collections.abc import Iterator

import pytest

from forum_adapters.base import Attempt, ErrorKind, Failure, Prompt, Reply
from servers.adapter_calls import adapter_for, ask_at, attempt, limits, run_and_close
from servers.faulty import Act, Cut, FaultyServer, Pause, does, says
from servers.formats import Format, ModelAnswer, complete_answer, streamed_answer
from servers.http_bytes import Request, chunk, chunked, head, json_response, response, stream_head


def drip(format_: Format) -> list[Act]:
    """An endless answer without long pauses."""
    first, *_ = streamed_answer(format_, ModelAnswer())
    acts: list[Act] = [stream_head(), chunk(first)]
    for _ in range(2_000):
        acts += [chunk(b": still here\n\n"), Pause(0.02)]
    return acts


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("kind", ["drip", "silence", "half a head"])
def test_a_slow_answer_ends_at_the_timeout(format_: Format, kind: str) -> None:
    acts: dict[str, list[Act]] = {
        "drip": drip(format_),
        "silence": [Pause(60)],
        "half a head": [b"HTTP/1.1 2", Pause(60)],
    }
    with FaultyServer() as server:
        server.will(does(*acts[kind]))
        start = time.monotonic()
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=300)))

        assert time.monotonic() - start < 20
        assert server.wait_until_idle(20)
    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.TIMEOUT


@pytest.mark.parametrize("format_", Format)
def test_content_received_before_the_timeout_is_kept(format_: Format) -> None:
    *pieces, _, _, _ = streamed_answer(format_, ModelAnswer())
    with FaultyServer() as server:
        server.will(does(stream_head(), *(chunk(piece) for piece in pieces), Pause(60)))
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=1_000)))

    assert reply.content == b"Hello, world."
    assert reply.failure == Failure(ErrorKind.TIMEOUT, "the answer was incomplete after 1000 ms")
    assert reply.usage is None


@pytest.mark.parametrize("format_", Format)
def test_content_received_before_a_cancel_is_kept(format_: Format) -> None:
    *pieces, _, _, _ = streamed_answer(format_, ModelAnswer())
    is_sent = threading.Event()

    def never_ends(_: Request) -> Iterator[Act]:
        yield from (stream_head(), *(chunk(piece) for piece in pieces))
        is_sent.set()
        yield Pause(60)

    with FaultyServer(never_ends) as server:
        adapter = adapter_for(format_, server.base_url)

        async def cancel() -> Reply:
            call = asyncio.create_task(adapter.answer(attempt()))
            await asyncio.to_thread(is_sent.wait)
            await asyncio.sleep(0.5)
            call.cancel()
            return await call

        reply = run_and_close(adapter, cancel())

    assert (reply.content, reply.failure) == (b"Hello, world.", Failure(ErrorKind.CANCELLED, "the call was cancelled"))
    assert reply.usage is None


def test_the_connect_timeout_is_enforced() -> None:
    # RFC 5737 reserves this address for documentation.
    reply = ask_at(Format.OPENAI, "http://192.0.2.1/v1", attempt(hosts=("*",)), connect_timeout_ms=50)

    assert reply.failure is not None
    assert reply.failure.kind in (ErrorKind.TIMEOUT, ErrorKind.NETWORK)


@pytest.mark.parametrize("act", [Cut(), Cut(is_reset=True), b"garbage\r\n\r\n", b"HTTP/9 0 ?\r\n\r\n"])
def test_a_broken_response_is_a_network_error(act: Act) -> None:
    with FaultyServer() as server:
        server.will(does(act, Cut()))
        reply = ask_at(Format.OPENAI, server.base_url)

    message = f"127.0.0.1:{server.port} closed the connection before it answered"
    assert reply.failure == Failure(ErrorKind.NETWORK, message)


def test_an_unreachable_server_is_a_network_error() -> None:
    with FaultyServer() as server:
        pass

    reply = ask_at(Format.OPENAI, server.base_url)

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.NETWORK
    assert reply.failure.message.startswith(f"127.0.0.1:{server.port} could not be reached: ")


def limited_to(max_output_bytes: int) -> Attempt:
    return attempt(limits=limits(max_output_bytes=max_output_bytes))


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("is_stream", [True, False])
def test_an_answer_may_reach_the_limit_but_not_exceed_it(format_: Format, is_stream: bool) -> None:
    with FaultyServer() as server:
        server.will(says("ab", "cé"), says("ab", "cé"))
        complete = ask_at(format_, server.base_url, limited_to(5), stream=is_stream)
        truncated = ask_at(format_, server.base_url, limited_to(4), stream=is_stream)

    assert (complete.content, complete.failure) == ("abcé".encode(), None)
    assert truncated.content == b"abc"
    assert truncated.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the answer has more than 4 bytes")


@pytest.mark.parametrize("format_", Format)
def test_a_body_without_a_length_is_read_up_to_the_limit(format_: Format) -> None:
    body = head(200, {"content-type": "application/json"}) + b" " * 4_000_000
    with FaultyServer() as server:
        server.will(does(body, Cut()))
        reply = ask_at(format_, server.base_url, limited_to(1_000), stream=False)

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the server sent more than 1056576 bytes")


@pytest.mark.parametrize("format_", Format)
def test_a_stream_of_comments_is_read_up_to_the_limit(format_: Format) -> None:
    with FaultyServer() as server:
        server.will(does(stream_head(), *(chunk(b": nothing\n" * 10_000) for _ in range(20)), Pause(60)))
        reply = ask_at(format_, server.base_url, limited_to(1_000))

    assert reply.failure == Failure(ErrorKind.OUTPUT_LIMIT, "the server sent more than 1122112 bytes")


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
def test_a_compression_bomb_is_limited_by_its_decompressed_size(format_: Format, content_type: str) -> None:
    bomb = gzip.compress(b" " * 20_000_000, compresslevel=9)
    with FaultyServer() as server:
        server.will(does(response(200, bomb, {"content-encoding": "gzip", "content-type": content_type})))
        reply = ask_at(format_, server.base_url, limited_to(1_000))

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.OUTPUT_LIMIT


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize(("name", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_compressed_answer_is_decompressed(
    format_: Format, is_stream: bool, name: str, compress: type[bytes]
) -> None:
    answer = ModelAnswer(("x" * 200_000,))
    complete = json_response(200, complete_answer(format_, answer)).partition(b"\r\n\r\n")[2]
    body = compress(b"".join(streamed_answer(format_, answer)) if is_stream else complete)
    content_type = "text/event-stream" if is_stream else "application/json"
    with FaultyServer() as server:
        server.will(does(response(200, body, {"content-encoding": name, "content-type": content_type})))
        reply = ask_at(format_, server.base_url, limited_to(200_000))

    assert (len(reply.content), reply.failure) == (200_000, None)
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(("encoding", "body"), [("br", b"x"), ("gzip", b"not gzip"), ("gzip, gzip", b"x")])
def test_an_unknown_or_broken_compression_is_a_network_error(encoding: str, body: bytes) -> None:
    with FaultyServer() as server:
        server.will(does(response(200, body, {"content-encoding": encoding})))
        reply = ask_at(Format.OPENAI, server.base_url)

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.NETWORK


@pytest.mark.parametrize("format_", Format)
def test_a_long_answer_in_short_pieces_is_accepted(format_: Format) -> None:
    answer = ModelAnswer(["a"] * 5_000, model="m" * 100)
    request = attempt(limits=limits(max_output_bytes=5_000, max_tokens=5_000))
    with FaultyServer() as server:
        server.will(does(*chunked(streamed_answer(format_, answer))))
        reply = ask_at(format_, server.base_url, request)

    assert (reply.content, reply.failure) == (b"a" * 5_000, None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("acts", [[Pause(60)], [stream_head(), Pause(60)]])
def test_a_cancelled_call_closes_its_connection(format_: Format, acts: list[Act]) -> None:
    with FaultyServer() as server:
        server.will(does(*acts))
        adapter = adapter_for(format_, server.base_url)

        async def cancel() -> bool:
            call = asyncio.create_task(adapter.answer(attempt()))
            while not (server.requests or call.done()):
                await asyncio.sleep(0.01)
            call.cancel()
            await asyncio.wait([call])
            failure = call.result().failure
            assert failure is not None and failure.kind is ErrorKind.CANCELLED
            return await asyncio.to_thread(server.wait_until_idle, 20)

        # Checked before the adapter is closed: the call itself must close its connection.
        assert run_and_close(adapter, cancel())


def test_calls_cancelled_at_any_moment_leave_no_connection_open() -> None:
    def send_slowly(request: Request) -> Iterator[Act]:
        for act in says(*"abcdefgh")(request):
            yield from (act, Pause(0.005))

    with FaultyServer(send_slowly) as server:
        adapter = adapter_for(Format.OPENAI, server.base_url)

        async def cancel_after(after_s: float) -> None:
            call = asyncio.create_task(adapter.answer(attempt()))
            await asyncio.sleep(after_s)
            call.cancel()
            await asyncio.wait([call])

        async def cancel_all() -> None:
            await asyncio.gather(*(cancel_after(n / 1_000) for n in range(100)))

        run_and_close(adapter, cancel_all())

        assert server.wait_until_idle(20)


@pytest.mark.parametrize("format_", Format)
def test_hundreds_of_calls_run_concurrently(format_: Format) -> None:
    count = 300
    all_arrived = asyncio.Barrier(count)
    with FaultyServer(lambda request: [all_arrived, *says()(request)]) as server:
        adapter = adapter_for(format_, server.base_url)

        async def ask_all() -> list[Reply]:
            return await asyncio.gather(*(adapter.answer(attempt(Prompt(text=str(n)))) for n in range(count)))

        replies = run_and_close(adapter, ask_all())

    assert {reply.failure for reply in replies} == {None}
    assert {request.document["messages"][-1]["content"] for request in server.requests} == set(map(str, range(count)))
