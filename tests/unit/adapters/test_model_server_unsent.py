"""A call that never reached the server costs nothing. The cost of any other call is unknown without usage."""

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
from servers.certificate import tls_contexts
from servers.faulty import Act, Cut, FaultyServer, Pause, Step, does, refuses
from servers.formats import Format

NO_USAGE = Usage()
ANY_HOST = ("*",)
formats = pytest.mark.parametrize("format_", Format)


def usage_after(reply: Reply, kind: ErrorKind) -> Usage | None:
    assert reply.failure is not None
    assert reply.failure.kind is kind, reply
    return reply.usage


@formats
def test_a_call_to_a_closed_port_costs_nothing(format_: Format) -> None:
    with FaultyServer() as server:
        pass

    assert usage_after(ask_at(format_, server.base_url), ErrorKind.NETWORK) == NO_USAGE


@formats
def test_a_call_to_an_unknown_host_costs_nothing(format_: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_to_resolve(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "name or service not known")

    # Real resolvers can be slow.
    monkeypatch.setattr(socket, "getaddrinfo", fail_to_resolve)

    reply = ask_at(format_, "http://nowhere.invalid/v1", attempt(hosts=ANY_HOST))

    assert usage_after(reply, ErrorKind.NETWORK) == NO_USAGE


@formats
def test_a_call_to_an_untrusted_server_costs_nothing(format_: Format, tmp_path: Path) -> None:
    with FaultyServer(tls=tls_contexts(tmp_path)[0]) as server:
        reply = ask_at(format_, server.base_url)

    assert usage_after(reply, ErrorKind.NETWORK) == NO_USAGE
    assert server.requests == []


TOO_MANY_FILES = "this process has too many files open; raise the limit (`ulimit -n`) or lower max_parallel"


@contextmanager
def no_free_file_descriptor() -> Iterator[None]:
    """Prevent this process from opening files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # An opened file gets the lowest free descriptor.
    lowest = os.open(os.devnull, os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(lowest)


@formats
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "nowhere.invalid"])
def test_too_many_open_files_are_reported_and_may_be_retried(format_: Format, host: str) -> None:
    with FaultyServer() as server:
        adapter = adapter_for(format_, f"http://{host}:{server.port}/v1")
        request = attempt(hosts=ANY_HOST)

        async def answer() -> Reply:
            with no_free_file_descriptor():
                return await adapter.answer(request)

        reply = run_and_close(adapter, answer())

    assert (reply.failure, reply.usage) == (Failure(ErrorKind.NETWORK, TOO_MANY_FILES), NO_USAGE)
    assert ErrorKind.NETWORK.may_be_retried
    assert server.connections == 0


def test_codecs_for_an_answer_are_imported_before_the_call() -> None:
    """Runs in its own process, because this one may have imported them already."""
    program = (
        "import sys; import forum_adapters.openai; "
        "print([name for name in ('utf_16_le', 'idna') if f'encodings.{name}' not in sys.modules])"
    )

    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert completed.stdout.strip() == "[]"


@formats
def test_a_call_to_a_host_that_the_policy_forbids_costs_nothing(format_: Format) -> None:
    reply = ask_at(format_, "http://127.0.0.1:1/v1", attempt(hosts=()))

    assert usage_after(reply, ErrorKind.INVALID_REQUEST) == NO_USAGE


@formats
def test_a_call_without_its_key_costs_nothing(format_: Format) -> None:
    assert usage_after(ask_at(format_, "http://127.0.0.1:1/v1", api_key_env="NO_SUCH_KEY"), ErrorKind.AUTH) == NO_USAGE


@formats
@pytest.mark.parametrize("step", [refuses(407), refuses(502), does(Cut())], ids=["asks for a password", "502", "cut"])
def test_a_call_through_a_proxy_that_opens_no_tunnel_costs_nothing(
    format_: Format, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyServer(step) as proxy:
        monkeypatch.setenv("MY_PROXY", f"http://127.0.0.1:{proxy.port}")
        reply = ask_at(format_, "https://model.invalid/v1", attempt(hosts=ANY_HOST), proxy_env="MY_PROXY")

    assert usage_after(reply, ErrorKind.NETWORK) == NO_USAGE
    assert [request.method for request in proxy.requests] == ["CONNECT"]


@formats
@pytest.mark.parametrize("connect_timeout_ms", [50, 60_000])
def test_a_call_that_never_connects_costs_nothing(format_: Format, connect_timeout_ms: int) -> None:
    """The proxy accepts the connection and never opens the tunnel. Either limit may end the call."""
    with FaultyServer(does(Pause(60))) as proxy, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_PROXY", f"http://127.0.0.1:{proxy.port}")
        reply = ask_at(
            format_,
            "https://model.invalid/v1",
            _brief_attempt(),
            proxy_env="MY_PROXY",
            connect_timeout_ms=connect_timeout_ms,
        )

    assert usage_after(reply, ErrorKind.TIMEOUT) == NO_USAGE


def _brief_attempt() -> Attempt:
    return attempt(limits=limits(timeout_ms=300), hosts=ANY_HOST)


@formats
@pytest.mark.parametrize("act", [Cut(), Cut(is_reset=True), b"garbage\r\n\r\n"], ids=["closed", "reset", "garbage"])
def test_the_cost_of_a_sent_call_is_unknown(format_: Format, act: Act) -> None:
    with FaultyServer(does(act, Cut())) as server:
        reply = ask_at(format_, server.base_url)

    assert usage_after(reply, ErrorKind.NETWORK) is None
    assert len(server.requests) == 1


@formats
def test_the_cost_of_a_call_that_timed_out_is_unknown(format_: Format) -> None:
    with FaultyServer(does(Pause(60))) as server:
        reply = ask_at(format_, server.base_url, attempt(limits=limits(timeout_ms=2_000)))

    assert usage_after(reply, ErrorKind.TIMEOUT) is None
    assert len(server.requests) == 1


@formats
def test_a_request_has_a_content_length(format_: Format) -> None:
    with FaultyServer() as server:
        ask_at(format_, server.base_url)

    (request,) = server.requests
    assert request.headers["content-length"] == str(len(request.body))
    assert "transfer-encoding" not in request.headers
