"""One question to a model server, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

import httpx

from forum_adapters.base import ErrorKind, Limits
from forum_adapters.models.bounded_body import read_pieces
from forum_adapters.models.dialect import Dialect, read_document
from forum_adapters.models.draft import Draft
from forum_adapters.models.event_stream import Event, EventReader
from forum_adapters.models.failures import CallFailed, Unreadable, kind_of_status, retry_after_ms, told_by_body
from forum_adapters.models.hosts import is_same_place, shown
from forum_adapters.models.own_limits import TOO_MANY_FILES, is_out_of_files, root_of

_MAX_ERROR_BYTES = 65_536
_MAX_ERROR_S = 2
# What JSON may add to a text by escapes, and around it.
_MAX_ESCAPED = 8
_FRAME_BYTES = 1_048_576
# What stands around each token of a stream: more than ten times the token itself.
_EVENT_BYTES = 1_024


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A question, ready to be sent. `headers` hold the key, and are not shown."""

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
        whole_s = self.limits.timeout_ms / 1_000
        return httpx.Timeout(whole_s, connect=min(whole_s, self.connect_timeout_ms / 1_000))


async def ask(client: httpx.AsyncClient, call: ModelRequest, dialect: Dialect, draft: Draft) -> None:
    """Fills the draft as far as the answer comes. Raises CallFailed if it does not come whole."""
    has_begun = False
    try:
        async with client.stream(
            "POST", call.url, content=_sent(call, draft), headers=call.headers, timeout=call.timeout
        ) as response:
            if not response.is_success:
                raise await _refusal(response, call)
            has_begun = True
            await _read_answer(response, call.limits, dialect, draft)
    except httpx.TransportError as error:
        if not draft.is_whole:
            raise unreachable(error, call.url, has_begun=has_begun) from error


async def _sent(call: ModelRequest, draft: Draft) -> AsyncIterator[bytes]:
    """The body. It is taken when there is a connection and no sooner: until then nobody was asked anything."""
    draft.is_asked = True
    yield call.body


def unreachable(error: httpx.TransportError, url: httpx.URL, *, has_begun: bool = False) -> CallFailed:
    if not has_begun and is_out_of_files(error):
        return CallFailed(ErrorKind.NETWORK, TOO_MANY_FILES)
    if isinstance(error, httpx.ConnectTimeout):
        return CallFailed(ErrorKind.TIMEOUT, f"{shown(url)} could not be reached in time")
    if isinstance(error, httpx.TimeoutException):
        return CallFailed(ErrorKind.TIMEOUT, f"{shown(url)} did not answer in time")
    if isinstance(error, httpx.ConnectError | httpx.ProxyError):
        return CallFailed(ErrorKind.NETWORK, f"{shown(url)} could not be reached: {root_of(error)}")
    if has_begun:
        return CallFailed(ErrorKind.NETWORK, "the answer was cut off")
    return CallFailed(ErrorKind.NETWORK, f"{shown(url)} broke the connection off before it answered")


async def _read_answer(response: httpx.Response, limits: Limits, dialect: Dialect, draft: Draft) -> None:
    """The server decides whether it streams: some do without being asked, and some do not do it at all."""
    max_bytes = _MAX_ESCAPED * limits.max_output_bytes + _FRAME_BYTES
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        async with aclosing(read_pieces(response, max_bytes)) as pieces:
            body = b"".join([piece async for piece in pieces])
        dialect.take_whole(read_document(body), draft)
        draft.is_ended = True
        return
    async with aclosing(read_pieces(response, max_bytes + _EVENT_BYTES * limits.max_tokens)) as pieces:
        await _read_events(pieces, dialect, draft)
        if not draft.is_whole:
            raise CallFailed(ErrorKind.NETWORK, "the answer was cut off")


async def _read_events(pieces: AsyncIterator[bytes], dialect: Dialect, draft: Draft) -> None:
    reader = EventReader()
    async for piece in pieces:
        for event in reader.feed(piece):
            dialect.take_event(event, draft)
            if draft.is_ended:
                return
    for event in reader.end():
        _take_unfinished(event, dialect, draft)


def _take_unfinished(event: Event, dialect: Dialect, draft: Draft) -> None:
    # Half an event says that the stream was cut, not that the server writes it badly.
    with suppress(Unreadable):
        dialect.take_event(event, draft)


async def _refusal(response: httpx.Response, call: ModelRequest) -> CallFailed:
    if response.next_request is not None:
        return _redirection(call.url, response.next_request.url)
    told = told_by_body(await _error_body(response))
    kind = kind_of_status(response.status_code, told)
    hint = ""
    if response.status_code == HTTPStatus.NOT_FOUND:
        hint = f" for the model '{call.model}' at {call.url.path}"
    elif kind is ErrorKind.INVALID_REQUEST and call.has_schema:
        hint = " (a schema was sent; 'structured_output: prompt' leaves it out)"
    wait_ms = retry_after_ms(response.headers, datetime.now(UTC)) if kind.is_transient else None
    return CallFailed(kind, f"{shown(call.url)} answered {response.status_code}{hint}: {told.message}", wait_ms)


def _redirection(url: httpx.URL, target: httpx.URL) -> CallFailed:
    """None is followed: the host was allowed by its name, and the key is meant for it alone."""
    message = f"redirected to {shown(target)}, which is not the host of 'base_url'"
    if is_same_place(url, target):
        message = f"{shown(url)} redirects to {target.path}: name that place in 'base_url'"
    return CallFailed(ErrorKind.INVALID_REQUEST, message)


async def _error_body(response: httpx.Response) -> bytes:
    """As much of it as is worth a look; a server that fails may fail at this too."""
    pieces: list[bytes] = []
    with suppress(TimeoutError, httpx.TransportError, CallFailed):
        async with asyncio.timeout(_MAX_ERROR_S), aclosing(read_pieces(response, _MAX_ERROR_BYTES)) as body:
            async for piece in body:
                pieces.append(piece)  # noqa: PERF401 - what came before a failure is kept
    return b"".join(pieces)
