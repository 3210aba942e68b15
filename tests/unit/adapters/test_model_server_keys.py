"""The API key is read for each call, sent in the format's header, and never shown."""

import base64
import pickle
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_adapters.base import ErrorKind
from forum_adapters.models.credentials import Secret
from servers.adapter_calls import adapter_for, ask, ask_at
from servers.faulty import Cut, FaultyServer, does, leaks_key, says
from servers.formats import Format
from servers.http_bytes import json_response

KEY = "sk/test+42?&=<~>" + "k" * 20
KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def test_chat_completions_send_the_key_as_a_bearer_token() -> None:
    with FaultyServer() as server:
        ask_at(Format.OPENAI, server.base_url, api_key_env="TEST_KEY")

    headers = server.requests[0].headers
    assert (headers["authorization"], "x-api-key" in headers) == (f"Bearer {KEY}", False)


def test_messages_send_the_key_as_x_api_key() -> None:
    with FaultyServer() as server:
        ask_at(Format.ANTHROPIC, server.base_url, api_key_env="TEST_KEY")

    headers = server.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in headers


@pytest.mark.parametrize("format_", Format)
def test_without_api_key_env_no_key_is_sent(format_: Format) -> None:
    with FaultyServer() as server:
        ask_at(format_, server.base_url)

    assert {"authorization", "x-api-key"} & server.requests[0].headers.keys() == set()


@pytest.mark.parametrize("format_", Format)
def test_the_key_is_read_for_every_call(format_: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer() as server:
        adapter = adapter_for(format_, server.base_url, api_key_env="TEST_KEY")
        ask(adapter)
        monkeypatch.setenv("TEST_KEY", "another")
        ask(adapter)

    assert "another" in " ".join(server.requests[1].headers.values())


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("value", [None, ""])
def test_an_unset_key_is_reported_and_nothing_is_sent(
    format_: Format, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_KEY") if value is None else monkeypatch.setenv("TEST_KEY", value)
    with FaultyServer() as server:
        reply = ask_at(format_, server.base_url, api_key_env="TEST_KEY")

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.AUTH
    assert reply.failure.message == "the environment variable TEST_KEY, which holds the key, is not set"
    assert server.requests == []


@pytest.mark.parametrize("value", ["two words", "line\n", "a\r\nx-evil: 1", "schl\u00fcssel"])
def test_a_key_with_invalid_characters_is_neither_sent_nor_shown(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", value)
    with FaultyServer() as server:
        reply = ask_at(Format.OPENAI, server.base_url, api_key_env="TEST_KEY")

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.AUTH
    assert (
        reply.failure.message
        == "the key in TEST_KEY is invalid: it must consist of printable ASCII characters without spaces"
    )
    assert server.requests == []


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_key_that_the_server_repeats_is_scrubbed(format_: Format, status: int) -> None:
    with FaultyServer() as server:
        server.will(leaks_key(status))
        reply = ask_at(format_, server.base_url, api_key_env="TEST_KEY")

    assert reply.failure is not None
    assert reply.failure.message == (
        f"127.0.0.1:{server.port} answered {status}: the key [scrubbed], or [scrubbed], or [scrubbed], is wrong"
    )
    assert KEY.encode() not in pickle.dumps(reply)


@pytest.mark.parametrize("format_", Format)
def test_the_model_and_the_finish_reason_are_also_scrubbed(format_: Format) -> None:
    with FaultyServer() as server:
        server.will(says("x", model=f"model {KEY}", finish=f"because of {KEY}"))
        reply = ask_at(format_, server.base_url, api_key_env="TEST_KEY")

    assert (reply.model, reply.finish) == ("model [scrubbed]", "because of [scrubbed]")
    assert reply.failure is not None
    assert reply.failure.message == "the answer has an unknown finish reason: 'because of [scrubbed]'"


@pytest.mark.parametrize(
    "reply",
    [
        f"HTTP/1.1 302 Found\r\nlocation: http://evil.example/{KEY}\r\ncontent-length: 0\r\n\r\n".encode(),
        f"HTTP/1.1 {KEY} {KEY}\r\n{KEY}\r\n\r\n".encode(),
        json_response(200, {"error": {"message": KEY, "type": KEY}}),
        json_response(200, {"choices": KEY}, {"content-encoding": KEY}),
        json_response(418, {"error": " " * 65_000 + KEY * 100}),
    ],
)
def test_no_malformed_response_reveals_the_key(reply: bytes) -> None:
    with FaultyServer() as server:
        server.will(does(reply, Cut()))
        answer = ask_at(Format.OPENAI, server.base_url, api_key_env="TEST_KEY")

    assert answer.failure is not None
    assert "kkkkkkkk" not in repr(answer)


@given(KEYS, st.sampled_from(["", "Bearer ", "x:", "user:"]), st.binary(max_size=4))
def test_every_encoding_of_a_key_is_scrubbed(key: str, before: str, after: bytes) -> None:
    secret = Secret(key)

    assert secret.scrub(f"<{key}>") == "<[scrubbed]>"
    assert secret.scrub(f"<{quote(key, safe='')}>") == "<[scrubbed]>"
    encoded = base64.b64encode(before.encode() + key.encode() + after).decode()
    assert "[scrubbed]" in secret.scrub(encoded)
    assert len(secret.scrub(encoded).replace("[scrubbed]", "")) <= len(encoded) - len(key) * 8 // 6 + 1


def test_a_quote_is_one_short_line_and_never_contains_half_a_key() -> None:
    secret = Secret(KEY)

    assert secret.quote(f"a\r\n\tb\x00\x1b[31m\u2028{KEY}") == "a b [31m [scrubbed]"
    assert len(secret.quote("x" * 100_000)) == 600
    assert secret.quote("x" * 590 + KEY) == "x" * 590 + "[scrubbed]"
    assert "k" not in secret.quote("x" * 595 + KEY)


def test_a_secret_is_not_in_its_repr() -> None:
    assert KEY not in f"{Secret(KEY)!r} {Secret(KEY)}"
