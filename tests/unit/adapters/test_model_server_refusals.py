"""Error responses of servers: their kinds and their messages."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forum_adapters.base import ErrorKind, Failure, Prompt
from forum_adapters.models.failures import kind_of_error, kind_of_status, read_error, read_error_body, retry_after_ms
from servers.adapter_calls import adapter_for, ask, ask_at, attempt
from servers.faulty import Cut, FaultyServer, Pause, Step, does, refuses, says
from servers.formats import Format
from servers.http_bytes import head, json_response, response

NOW = datetime(2026, 11, 14, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize(
    ("status", "labels", "kind"),
    [
        (401, {}, ErrorKind.AUTH),
        (402, {}, ErrorKind.QUOTA_EXHAUSTED),
        (403, {}, ErrorKind.AUTH),
        (408, {}, ErrorKind.TIMEOUT),
        (413, {}, ErrorKind.CONTEXT_LENGTH),
        (418, {}, ErrorKind.INVALID_REQUEST),
        (429, {}, ErrorKind.RATE_LIMITED),
        (429, {"code": "insufficient_quota"}, ErrorKind.QUOTA_EXHAUSTED),
        (429, {"type": "insufficient_quota"}, ErrorKind.QUOTA_EXHAUSTED),
        (400, {}, ErrorKind.INVALID_REQUEST),
        (422, {}, ErrorKind.INVALID_REQUEST),
        (400, {"code": "context_length_exceeded"}, ErrorKind.CONTEXT_LENGTH),
        (400, {"type": "exceed_context_size_error"}, ErrorKind.CONTEXT_LENGTH),
        (400, {"code": "content_filter"}, ErrorKind.CONTENT_FILTER),
        (500, {}, ErrorKind.MODEL_UNAVAILABLE),
        (502, {}, ErrorKind.MODEL_UNAVAILABLE),
        (503, {}, ErrorKind.MODEL_UNAVAILABLE),
        (504, {}, ErrorKind.TIMEOUT),
        (529, {"type": "overloaded_error"}, ErrorKind.MODEL_UNAVAILABLE),
        (599, {}, ErrorKind.MODEL_UNAVAILABLE),
    ],
)
def test_each_status_has_an_error_kind(format_: Format, status: int, labels: dict[str, str], kind: ErrorKind) -> None:
    with FaultyServer() as server:
        server.will(refuses(status, "for this reason", None, **labels))
        reply = ask_at(format_, server.base_url)

    message = f"127.0.0.1:{server.port} answered {status}: for this reason"
    assert (reply.content, reply.failure, reply.usage) == (b"", Failure(kind, message), None)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (refuses(404, "The model `small` does not exist", code="model_not_found"), "The model `small` does not exist"),
        (refuses(404, "model: small", type="not_found_error"), "model: small"),
        (refuses(404, "File Not Found", type="not_found_error", code=404), "File Not Found"),
        (does(response(404, b"404 page not found")), "404 page not found"),
        (does(response(404)), ""),
    ],
)
def test_a_404_is_an_invalid_request_that_names_the_model(format_: Format, step: Step, reason: str) -> None:
    with FaultyServer() as server:
        server.will(step)
        reply = ask_at(format_, server.base_url, attempt(Prompt(text="x", output_schema={"type": "object"})))

    message = f"127.0.0.1:{server.port} answered 404 for the model 'small' at /v1/{format_.path}: {reason}"
    assert reply.failure == Failure(ErrorKind.INVALID_REQUEST, message.rstrip())


def test_a_model_that_is_loading_is_unavailable() -> None:
    assert kind_of_status(404, read_error({"message": "the model is loading"})) is ErrorKind.MODEL_UNAVAILABLE


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("This model's maximum context length is 8192 tokens", ErrorKind.CONTEXT_LENGTH),
        ("request (3031 tokens) exceeds the available context size (512 tokens)", ErrorKind.CONTEXT_LENGTH),
        ("prompt is too long: 210000 tokens > 200000 maximum", ErrorKind.CONTEXT_LENGTH),
        ("input length and `max_tokens` exceed context limit", ErrorKind.CONTEXT_LENGTH),
        ("the response was filtered by the content management policy", ErrorKind.CONTENT_FILTER),
        ("Your credit balance is too low to access the API", ErrorKind.QUOTA_EXHAUSTED),
        ("max_tokens: 9000 > 4096", ErrorKind.INVALID_REQUEST),
    ],
)
def test_the_kind_of_a_bad_request_depends_on_its_message(message: str, kind: ErrorKind) -> None:
    assert kind_of_status(400, read_error({"message": message, "type": "invalid_request_error"})) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error"}, ErrorKind.MODEL_UNAVAILABLE),
        ({"type": "rate_limit_error"}, ErrorKind.RATE_LIMITED),
        ({"type": "api_error"}, ErrorKind.MODEL_UNAVAILABLE),
        ({"type": "timeout_error"}, ErrorKind.TIMEOUT),
        ({"type": "authentication_error"}, ErrorKind.AUTH),
        ({"type": "billing_error"}, ErrorKind.QUOTA_EXHAUSTED),
        ({"type": "invalid_request_error"}, ErrorKind.INVALID_REQUEST),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, ErrorKind.CONTEXT_LENGTH),
        ({"type": "invalid_request_error", "code": "invalid_api_key"}, ErrorKind.AUTH),
        ({"type": "exceed_context_size_error", "code": 400}, ErrorKind.CONTEXT_LENGTH),
        ({"code": 429, "message": "upstream is busy"}, ErrorKind.RATE_LIMITED),
        ({"code": "too_many_requests"}, ErrorKind.RATE_LIMITED),
        ({"code": 404, "message": "no such model"}, ErrorKind.INVALID_REQUEST),
        ({"type": "invalid_request_error", "code": "model_not_found"}, ErrorKind.INVALID_REQUEST),
        ({"type": "not_found_error"}, ErrorKind.INVALID_REQUEST),
        ({"code": 400, "message": "what is this"}, ErrorKind.INVALID_REQUEST),
        ({"type": "never_heard_of"}, ErrorKind.MODEL_UNAVAILABLE),
        ("just words", ErrorKind.MODEL_UNAVAILABLE),
        ({}, ErrorKind.MODEL_UNAVAILABLE),
    ],
)
def test_each_error_document_has_an_error_kind(error: object, kind: ErrorKind) -> None:
    assert kind_of_error(read_error(error)) is kind


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "m", "type": "t"}}', "m"),
        (b'{"type": "error", "error": {"type": "t", "message": "m"}}', "m"),
        (b'{"error": "m"}', "m"),
        (b'{"message": "m", "error": null}', "m"),
        (b'{"detail": "m"}', "m"),
        (b'{"error": {"type": "t", "code": 4}}', "t, 4"),
        (b"{}", "no reason given"),
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", ""),
        (b"[" * 100_000, "[" * 100_000),
    ],
)
def test_the_message_is_found_in_any_shape_of_body(body: bytes, message: str) -> None:
    assert read_error_body(body).message == message


@given(st.binary())
def test_any_body_has_an_error_kind(body: bytes) -> None:
    assert kind_of_status(400, read_error_body(body)) in ErrorKind


@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2_000),
        ({"retry-after": " 0.25 "}, 250),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "86400"}, 3_600_000),
        ({"retry-after": "inf"}, 3_600_000),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Sat, 14 Nov 2026 12:00:30 GMT"}, 30_000),
        ({"retry-after": "Sat, 14 Nov 2026 12:00:30 -0000"}, 30_000),
        ({"retry-after": "Sat, 14 Nov 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "Sat, 14 Nov 99999 11:00:00 GMT"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1_500),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9_000),
    ],
)
def test_retry_after_headers_are_parsed(headers: dict[str, str], wait_ms: int | None) -> None:
    assert retry_after_ms(headers, NOW) == wait_ms


@given(st.text())
def test_any_retry_after_value_is_handled(value: str) -> None:
    wait_ms = retry_after_ms({"retry-after": value}, NOW)

    assert wait_ms is None or 0 <= wait_ms <= 3_600_000


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_retry_after_is_part_of_the_failure(format_: Format, status: int) -> None:
    with FaultyServer() as server:
        server.will(refuses(status, headers={"retry-after": "1.5"}), says())
        adapter = adapter_for(format_, server.base_url)
        refused = ask(adapter)
        answered = ask(adapter)

    assert refused.failure is not None
    assert refused.failure.retry_after_ms == 1_500
    assert answered.failure is None


def test_a_retry_after_date_counts_from_the_current_time() -> None:
    with FaultyServer() as server:
        server.will(
            refuses(429, headers={"retry-after": format_datetime(datetime(2099, 1, 1, tzinfo=UTC), usegmt=True)})
        )
        reply = ask_at(Format.OPENAI, server.base_url)

    assert reply.failure is not None
    assert reply.failure.retry_after_ms == 3_600_000


@pytest.mark.parametrize("format_", Format)
def test_a_refused_schema_is_not_silently_left_out(format_: Format) -> None:
    with FaultyServer() as server:
        server.will(refuses(400, "output_config: Extra inputs are not permitted"))
        reply = ask_at(format_, server.base_url, attempt(Prompt(text="x", output_schema={"type": "object"})))

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.INVALID_REQUEST
    assert reply.failure.message == (
        f"127.0.0.1:{server.port} answered 400 (a schema was sent; 'structured_output: prompt' leaves it out): "
        "output_config: Extra inputs are not permitted"
    )
    assert len(server.requests) == 1


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_a_different_host_is_refused(format_: Format, status: int) -> None:
    with FaultyServer() as other, FaultyServer() as server:
        server.will(does(response(status, headers={"location": f"http://localhost:{other.port}/v1/x"})))
        reply = ask_at(format_, server.base_url)

    message = (
        f"127.0.0.1:{server.port} redirects to a different server, http://localhost:{other.port}, "
        "and redirects are not followed; correct 'base_url'"
    )
    assert reply.failure == Failure(ErrorKind.INVALID_REQUEST, message)
    assert other.requests == []


def test_a_redirect_to_a_different_scheme_names_the_scheme() -> None:
    with FaultyServer() as server:
        server.will(does(response(308, headers={"location": f"https://127.0.0.1:{server.port}/v1/chat/completions"})))
        reply = ask_at(Format.OPENAI, server.base_url)

    message = (
        f"127.0.0.1:{server.port} redirects to a different server, https://127.0.0.1:{server.port}, "
        "and redirects are not followed; correct 'base_url'"
    )
    assert reply.failure == Failure(ErrorKind.INVALID_REQUEST, message)


def test_a_redirect_on_the_same_host_is_not_followed_either() -> None:
    with FaultyServer() as server:
        server.will(does(response(308, headers={"location": "/v2/chat/completions"})))
        reply = ask_at(Format.OPENAI, server.base_url)

    message = (
        f"127.0.0.1:{server.port} redirects to /v2/chat/completions, "
        "and redirects are not followed; change 'base_url' so that requests go there directly"
    )
    assert reply.failure == Failure(ErrorKind.INVALID_REQUEST, message)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "kind"), [({}, ErrorKind.INVALID_REQUEST), ({"location": "http://[::zz"}, ErrorKind.NETWORK)]
)
def test_a_redirect_without_a_valid_location_fails(headers: dict[str, str], kind: ErrorKind) -> None:
    with FaultyServer() as server:
        server.will(does(response(302, headers=headers)))
        reply = ask_at(Format.OPENAI, server.base_url)

    assert reply.failure is not None
    assert reply.failure.kind is kind


def test_an_error_with_a_cut_body_keeps_its_kind() -> None:
    with FaultyServer() as server:
        server.will(does(head(503, {"content-length": "100"}) + b"the engine is", Cut()))
        reply = ask_at(Format.OPENAI, server.base_url)

    message = f"127.0.0.1:{server.port} answered 503: the engine is"
    assert reply.failure == Failure(ErrorKind.MODEL_UNAVAILABLE, message)


def test_an_error_with_a_delayed_body_keeps_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forum_adapters.models.exchange._MAX_ERROR_S", 0.2)
    with FaultyServer() as server:
        server.will(does(head(503, {"content-length": "100"}) + b"the engine is", Pause(60)))
        reply = ask_at(Format.OPENAI, server.base_url)

    message = f"127.0.0.1:{server.port} answered 503: the engine is"
    assert reply.failure == Failure(ErrorKind.MODEL_UNAVAILABLE, message)


def test_a_very_long_error_message_is_shortened() -> None:
    with FaultyServer() as server:
        server.will(does(json_response(503, {"error": "x\n\x00" * 1_000_000})))
        reply = ask_at(Format.OPENAI, server.base_url)

    assert reply.failure is not None
    assert reply.failure.kind is ErrorKind.MODEL_UNAVAILABLE
    assert len(reply.failure.message) <= 600
    assert reply.failure.message.isprintable()


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("is_stream", [True, False])
def test_an_error_document_with_status_200_is_an_error(format_: Format, is_stream: bool) -> None:
    with FaultyServer() as server:
        server.will(refuses(200, "try later", type="overloaded_error"))
        reply = ask_at(format_, server.base_url, stream=is_stream)

    assert reply.failure == Failure(ErrorKind.MODEL_UNAVAILABLE, "the server aborted the answer: try later")
