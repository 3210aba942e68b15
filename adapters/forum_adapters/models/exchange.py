"""Sends one request to a model server and reads the response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

import httpx

from forum_adapters.base import ErrorKind, Limits
from forum_adapters.models.bounded_body import read_body
from forum_adapters.models.dialect import Dialect, read_document
from forum_adapters.models.draft import Draft
from forum_adapters.models.event_stream import Event, EventReader
from forum_adapters.models.failures import CallFailed, Unreadable, kind_of_status, read_error_body, retry_after_ms
from forum_adapters.models.hosts import host_and_port, is_same_server
from forum_adapters.models.open_files import TOO_MANY_FILES, is_out_of_files, root_cause

_MAX_ERROR_BYTES = 65_536
_MAX_ERROR_S = 2
# JSON escapes can make a text up to 8 times as long; the rest of the document has at most 1 MiB.
_ESCAPE_FACTOR = 8
_FRAME_BYTES = 1_048_576
# The maximum size of the event around each token of a stream.
_EVENT_BYTES = 1_024


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request that is ready to be sent. `repr` hides `headers`, which contain the key."""

    url: httpx.URL
    model: str
    body: bytes
    limits: Limits
    connect_timeout_ms: int
    has_schema: bool
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"ModelRequest({self.url!s})"

    @property
    def timeout(self) -> httpx.Timeout:
        timeout_s = self.limits.timeout_ms / 1_000
        return httpx.Timeout(timeout_s, connect=min(timeout_s, self.connect_timeout_ms / 1_000))


async def send_request(client: httpx.AsyncClient, call: ModelRequest, dialect: Dialect, draft: Draft) -> None:
    """Sends a request and fills the draft while the answer arrives. Raises CallFailed without a complete answer."""
    has_begun = False
    try:
        async with client.stream(
            "POST", call.url, content=_send_body(call, draft), headers=call.headers, timeout=call.timeout
        ) as response:
            if not response.is_success:
                raise await _refusal(response, call)
            has_begun = True
            await _read_answer(response, call.limits, dialect, draft)
    except httpx.TransportError as error:
        if not draft.is_complete:
            raise transport_failure(error, call.url, has_begun=has_begun) from error


async def _send_body(call: ModelRequest, draft: Draft) -> AsyncIterator[bytes]:
    """Yields the body. httpx reads it only once it is connected; until then, the server has received nothing."""
    draft.may_be_received = True
    yield call.body


def transport_failure(error: httpx.TransportError, url: httpx.URL, *, has_begun: bool = False) -> CallFailed:
    if not has_begun and is_out_of_files(error):
        return CallFailed(ErrorKind.NETWORK, TOO_MANY_FILES)
    if isinstance(error, httpx.ConnectTimeout):
        return CallFailed(ErrorKind.TIMEOUT, f"{host_and_port(url)} could not be reached in time")
    if isinstance(error, httpx.TimeoutException):
        return CallFailed(ErrorKind.TIMEOUT, f"{host_and_port(url)} did not answer in time")
    if isinstance(error, httpx.ConnectError | httpx.ProxyError):
        return CallFailed(ErrorKind.NETWORK, f"{host_and_port(url)} could not be reached: {root_cause(error)}")
    if has_begun:
        return _incomplete_answer(url)
    return CallFailed(ErrorKind.NETWORK, f"{host_and_port(url)} closed the connection before it answered")


async def _read_answer(response: httpx.Response, limits: Limits, dialect: Dialect, draft: Draft) -> None:
    """Reads a streamed or a whole answer. The server decides: some always stream, and some never do."""
    max_bytes = _ESCAPE_FACTOR * limits.max_output_bytes + _FRAME_BYTES
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        async with aclosing(read_body(response, max_bytes)) as pieces:
            body = b"".join([piece async for piece in pieces])
        dialect.read_answer(read_document(body), draft)
        draft.is_ended = True
        return
    async with aclosing(read_body(response, max_bytes + _EVENT_BYTES * limits.max_tokens)) as pieces:
        await _read_events(pieces, dialect, draft)
        if not draft.is_complete:
            raise _incomplete_answer(response.url)


def _incomplete_answer(url: httpx.URL) -> CallFailed:
    message = f"the connection to {host_and_port(url)} ended before the answer was complete"
    return CallFailed(ErrorKind.NETWORK, message)


async def _read_events(pieces: AsyncIterator[bytes], dialect: Dialect, draft: Draft) -> None:
    reader = EventReader()
    async for piece in pieces:
        for event in reader.feed(piece):
            dialect.read_event_into(event, draft)
            if draft.is_ended:
                return
    for event in reader.end():
        _read_unfinished(event, dialect, draft)


def _read_unfinished(event: Event, dialect: Dialect, draft: Draft) -> None:
    # An incomplete event means that the stream was cut off, not that its format is wrong.
    with suppress(Unreadable):
        dialect.read_event_into(event, draft)


async def _refusal(response: httpx.Response, call: ModelRequest) -> CallFailed:
    if response.next_request is not None:
        return _redirection(call.url, response.next_request.url)
    error = read_error_body(await _error_body(response))
    kind = kind_of_status(response.status_code, error)
    hint = ""
    if response.status_code == HTTPStatus.NOT_FOUND:
        hint = f" for the model '{call.model}' at {call.url.path}"
    elif kind is ErrorKind.INVALID_REQUEST and call.has_schema:
        hint = " (a schema was sent; 'structured_output: prompt' leaves it out)"
    wait_ms = retry_after_ms(response.headers, datetime.now(UTC)) if kind.is_transient else None
    return CallFailed(
        kind, f"{host_and_port(call.url)} answered {response.status_code}{hint}: {error.message}", wait_ms
    )


def _redirection(url: httpx.URL, target: httpx.URL) -> CallFailed:
    """The failure for a redirect. It is not followed: the policy allows hosts by name, and the key is for one host."""
    if is_same_server(url, target):
        place = target.path
        hint = "change 'base_url' so that requests go there directly"
    else:
        place = f"a different server, {target.scheme}://{host_and_port(target)}"
        hint = "correct 'base_url'"
    message = f"{host_and_port(url)} redirects to {place}, and redirects are not followed; {hint}"
    return CallFailed(ErrorKind.INVALID_REQUEST, message)


async def _error_body(response: httpx.Response) -> bytes:
    """The beginning of an error response: as much as arrives within the limits of size and time."""
    pieces: list[bytes] = []
    with suppress(TimeoutError, httpx.TransportError, CallFailed):
        async with asyncio.timeout(_MAX_ERROR_S), aclosing(read_body(response, _MAX_ERROR_BYTES)) as body:
            async for piece in body:
                pieces.append(piece)  # noqa: PERF401 - keep what arrived before a failure
    return b"".join(pieces)
