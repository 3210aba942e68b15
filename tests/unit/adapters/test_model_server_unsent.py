"""A call of which the server cannot have heard costs nothing; of any other, nobody knows without a count."""

import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply, Usage
from servers.adapter_calls import adapter_for, ask_at, attempt, limits, run_and_close
from servers.certificate import contexts
from servers.faulty import Act, Cut, FaultyServer, Pause, Step, does, refuses
from servers.formats import Format

NOTHING = Usage()
EVERYWHERE = ("*",)
formats = pytest.mark.parametrize("format_", Format)


def failed(reply: Reply, kind: ErrorKind) -> Usage | None:
    assert reply.failure is not None
    assert reply.failure.kind is kind, reply
    return reply.usage


@formats
def test_nothing_is_sent_to_a_port_where_nobody_listens(format_: Format) -> None:
    with FaultyServer() as server:
        pass

    assert failed(ask_at(format_, server.base_url), ErrorKind.NETWORK) == NOTHING


@formats
def test_nothing_is_sent_to_a_name_that_leads_nowhere(format_: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "name or service not known")

    # No resolver is asked: some take their time for it.
    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    reply = ask_at(format_, "http://nowhere.invalid/v1", attempt(hosts=EVERYWHERE))

    assert failed(reply, ErrorKind.NETWORK) == NOTHING


@formats
def test_nothing_is_sent_to_a_server_that_nobody_vouches_for(format_: Format, tmp_path: Path) -> None:
    with FaultyServer(tls=contexts(tmp_path)[0]) as server:
        reply = ask_at(format_, server.base_url)

    assert failed(reply, ErrorKind.NETWORK) == NOTHING
    assert server.received == []


TOO_MANY_FILES = "this process has too many files open; raise the limit (`ulimit -n`) or lower max_parallel"


@contextmanager
def no_file_left() -> Iterator[None]:
    """Nothing can be opened in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A file that is opened gets the lowest number that is free.
    lowest = os.open(os.devnull, os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(lowest)


@formats
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "nowhere.invalid"])
def test_a_process_that_can_open_no_file_blames_itself_and_may_try_again(format_: Format, host: str) -> None:
    with FaultyServer() as server:
        adapter = adapter_for(format_, f"http://{host}:{server.port}/v1")
        asked = attempt(hosts=EVERYWHERE)

        async def answer() -> Reply:
            with no_file_left():
                return await adapter.answer(asked)

        reply = run_and_close(adapter, answer())

    assert (reply.failure, reply.usage) == (Failure(ErrorKind.NETWORK, TOO_MANY_FILES), NOTHING)
    assert ErrorKind.NETWORK.may_be_retried
    assert server.connections == 0


def test_what_a_call_needs_to_write_down_an_answer_is_not_opened_in_the_call() -> None:
    """In a process of its own: in this one, somebody may have opened it before."""
    program = (
        "import sys; import forum_adapters.openai; "
        "print([name for name in ('utf_16_le', 'idna') if f'encodings.{name}' not in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@formats
def test_nothing_is_sent_where_the_policy_does_not_allow_it(format_: Format) -> None:
    reply = ask_at(format_, "http://127.0.0.1:1/v1", attempt(hosts=()))

    assert failed(reply, ErrorKind.INVALID_REQUEST) == NOTHING


@formats
def test_nothing_is_sent_without_the_key_that_is_named(format_: Format) -> None:
    assert failed(ask_at(format_, "http://127.0.0.1:1/v1", api_key_env="NO_SUCH_KEY"), ErrorKind.AUTH) == NOTHING


@formats
@pytest.mark.parametrize("step", [refuses(407), refuses(502), does(Cut())], ids=["asks for a password", "502", "cut"])
def test_nothing_is_sent_through_a_proxy_that_opens_no_tunnel(
    format_: Format, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyServer(step) as proxy:
        monkeypatch.setenv("MY_PROXY", f"http://127.0.0.1:{proxy.port}")
        reply = ask_at(format_, "https://model.invalid/v1", attempt(hosts=EVERYWHERE), proxy_env="MY_PROXY")

    assert failed(reply, ErrorKind.NETWORK) == NOTHING
    assert [received.method for received in proxy.received] == ["CONNECT"]


@formats
@pytest.mark.parametrize("connect_timeout_ms", [50, 60_000])
def test_nothing_is_sent_while_a_connection_is_waited_for(format_: Format, connect_timeout_ms: int) -> None:
    """The proxy takes the connection, and never opens the tunnel; either limit may end it."""
    with FaultyServer(does(Pause(60))) as proxy, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_PROXY", f"http://127.0.0.1:{proxy.port}")
        reply = ask_at(
            format_,
            "https://model.invalid/v1",
            _short(),
            proxy_env="MY_PROXY",
            connect_timeout_ms=connect_timeout_ms,
        )

    assert failed(reply, ErrorKind.TIMEOUT) == NOTHING


def _short() -> Attempt:
    return attempt(limits=limits(timeout_ms=300), hosts=EVERYWHERE)


@formats
@pytest.mark.parametrize("act", [Cut(), Cut(is_reset=True), b"garbage\r\n\r\n"], ids=["closed", "reset", "garbage"])
def test_what_was_sent_may_have_cost_anything(format_: Format, act: Act) -> None:
    with FaultyServer(does(act, Cut())) as server:
        reply = ask_at(format_, server.base_url)

    assert failed(reply, ErrorKind.NETWORK) is None
    assert len(server.received) == 1


@formats
def test_silence_may_have_cost_anything(format_: Format) -> None:
    with FaultyServer(does(Pause(60))) as server:
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=2_000)))

    assert failed(reply, ErrorKind.TIMEOUT) is None
    assert len(server.received) == 1


@formats
def test_the_body_says_how_long_it_is(format_: Format) -> None:
    with FaultyServer() as server:
        ask_at(format_, server.base_url)

    (received,) = server.received
    assert received.headers["content-length"] == str(len(received.body))
    assert "transfer-encoding" not in received.headers
