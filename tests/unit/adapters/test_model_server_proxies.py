"""Connecting to a server directly or through the roster's proxy, and probing it."""

import pytest

from forum_adapters.base import ErrorKind, Failure
from servers.adapter_calls import adapter_for, ask_at, attempt, run_and_close
from servers.faulty import FaultyServer, Pause, Step, does, leaks_key, refuses
from servers.formats import Format
from servers.http_bytes import response

SECRET_ADDRESS = "ftp://user:sesame@proxy.example"  # noqa: S105 - not a real one


def probe(format_: Format, base_url: str, **settings: str) -> str | None:
    adapter = adapter_for(format_, base_url, **settings)
    return run_and_close(adapter, adapter.probe())


def test_a_proxy_that_the_roster_does_not_name_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer() as proxy, FaultyServer() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        reply = ask_at(Format.OPENAI, server.base_url)

    assert (reply.failure, len(server.requests), proxy.requests) == (None, 1, [])


@pytest.mark.parametrize("format_", Format)
def test_proxy_env_names_the_variable_with_the_proxy(format_: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer() as proxy:
        monkeypatch.setenv("MY_PROXY", f"http://127.0.0.1:{proxy.port}")
        reply = ask_at(format_, "http://model.invalid/v1", attempt(hosts=("model.invalid",)), proxy_env="MY_PROXY")

    assert reply.failure is None
    assert [request.path for request in proxy.requests] == [f"http://model.invalid/v1/{format_.path}"]


def test_an_unset_proxy_is_not_bypassed() -> None:
    with FaultyServer() as server:
        reply = ask_at(Format.OPENAI, server.base_url, proxy_env="NO_SUCH_PROXY")

    message = "the environment variable NO_SUCH_PROXY, which holds the proxy's address, is not set"
    assert reply.failure == Failure(ErrorKind.INVALID_REQUEST, message)
    assert server.requests == []


@pytest.mark.parametrize("address", [SECRET_ADDRESS, "http://user:sesame@:x", "socks5://user:sesame@proxy.example"])
def test_an_unusable_proxy_address_is_not_shown(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PROXY", address)

    reply = ask_at(Format.OPENAI, "http://127.0.0.1:1/v1", proxy_env="MY_PROXY")

    message = "the proxy address in MY_PROXY is invalid"
    assert reply.failure == Failure(ErrorKind.INVALID_REQUEST, message)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("status", [200, 204, 404, 405])
def test_a_probe_succeeds_if_the_server_answers(format_: Format, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "k-123")
    with FaultyServer() as server:
        server.will(does(response(status)))

        assert probe(format_, server.base_url, api_key_env="TEST_KEY") is None

    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/v1/models")
    assert "k-123" in " ".join(request.headers.values())


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (refuses(401), "HOST rejects the key in TEST_KEY"),
        (refuses(403), "HOST rejects the key in TEST_KEY"),
        (refuses(500), "HOST answered 500"),
        (does(response(302, headers={"location": "http://evil.example/"})), "HOST answered 302"),
        (does(b"garbage\r\n\r\n"), "HOST closed the connection before it answered"),
        (leaks_key(418), "HOST answered 418"),
    ],
)
def test_a_probe_reports_why_calls_would_fail(
    format_: Format, step: Step, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "k-123")
    with FaultyServer() as server:
        server.will(step)
        result = probe(format_, server.base_url, api_key_env="TEST_KEY")

    assert result == reason.replace("HOST", f"127.0.0.1:{server.port}")


def test_a_probe_reports_missing_settings_and_an_unreachable_server() -> None:
    with FaultyServer() as server:
        server.will(refuses(401))

        assert probe(Format.OPENAI, server.base_url) == f"127.0.0.1:{server.port} requires a key: set 'api_key_env'"

    unset = probe(Format.OPENAI, server.base_url, api_key_env="NO_SUCH_KEY")
    assert unset == "the environment variable NO_SUCH_KEY, which holds the key, is not set"
    unreachable = probe(Format.OPENAI, server.base_url)
    assert unreachable is not None
    assert unreachable.startswith(f"127.0.0.1:{server.port} could not be reached: ")


def test_a_probe_has_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forum_adapters.models.model_server._PROBE_S", 0.2)
    with FaultyServer() as server:
        server.will(does(Pause(60)))

        assert probe(Format.OPENAI, server.base_url) == f"127.0.0.1:{server.port} did not answer within 0.2 s"
