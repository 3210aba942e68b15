"""Servers behind TLS, trusted and untrusted."""

import asyncio
import ssl
from pathlib import Path

import pytest

from forum_adapters.base import ErrorKind, Failure, Reply
from servers.adapter_calls import adapter_for, ask_at, attempt, limits, run_and_close
from servers.certificate import tls_contexts
from servers.faulty import Cut, FaultyServer, Pause, does
from servers.formats import Format, ModelAnswer, streamed_answer
from servers.http_bytes import chunk, stream_head

formats = pytest.mark.parametrize("format_", Format)


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The server's context. The adapter trusts its certificate."""
    server, client = tls_contexts(tmp_path)
    monkeypatch.setattr("forum_adapters.models.model_server._ssl_context", lambda: client)
    return server


@formats
def test_an_untrusted_server_receives_nothing(format_: Format, tmp_path: Path) -> None:
    with FaultyServer(tls=tls_contexts(tmp_path)[0]) as server:
        reply = ask_at(format_, server.base_url)

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.NETWORK
    assert "CERTIFICATE_VERIFY_FAILED" in reply.failure.message
    assert server.requests == []


@formats
def test_a_connection_is_reused(format_: Format, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forum_adapters.models.model_server._IDLE_S", 600)
    with FaultyServer(tls=tls) as server:
        adapter = adapter_for(format_, server.base_url, stream=False)

        async def three_times() -> list[Reply]:
            return [await adapter.answer(attempt()) for _ in range(3)]

        assert [reply.failure for reply in run_and_close(adapter, three_times())] == [None] * 3
    assert server.connections == 1


@formats
@pytest.mark.parametrize("end", [Cut(), Cut(is_reset=True)])
def test_a_stream_that_stops_is_cut_off(format_: Format, end: Cut, tls: ssl.SSLContext) -> None:
    *events, _, _, _ = streamed_answer(format_, ModelAnswer())
    with FaultyServer(tls=tls) as server:
        server.will(does(stream_head(), *map(chunk, events), Pause(0.05), end))
        reply = ask_at(format_, server.base_url)

    message = f"the connection to 127.0.0.1:{server.port} ended before the answer was complete"
    assert (reply.content, reply.failure) == (b"Hello, world.", Failure(ErrorKind.NETWORK, message))


@formats
def test_a_slow_answer_ends_at_the_timeout(format_: Format, tls: ssl.SSLContext) -> None:
    with FaultyServer(tls=tls) as server:
        server.will(does(stream_head(), Pause(60)))
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=500)))

        assert server.wait_until_idle(20)
    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.TIMEOUT


@formats
def test_a_cancelled_call_closes_its_connection(format_: Format, tls: ssl.SSLContext) -> None:
    with FaultyServer(tls=tls) as server:
        server.will(does(stream_head(), Pause(60)))
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

        assert run_and_close(adapter, cancel())
