"""Connections that calls share, each of which serves one call at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import cast

import httpx


class ConnectionPool(httpx.AsyncBaseTransport):
    """As many lanes as calls at a time, each with one connection of its own.

    One pool of httpx's for all of them looks through all its connections, and for every idle one through all again,
    whenever a call begins or ends: 400 calls at a time took it 12 seconds of work. And a call that was cancelled while
    the pool closed the connections of others left those open.
    """

    def __init__(self, make: Callable[[], httpx.AsyncBaseTransport]) -> None:
        self._make = make
        # One is made at once, so that an address that nobody can use is found here and not in a call.
        self._idle = [make()]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        lane = self._idle.pop() if self._idle else self._make()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            await lane.aclose()
            raise
        response.stream = _LentStream(cast(httpx.AsyncByteStream, response.stream), lane, self._idle)
        return response

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()


class _LentStream(httpx.AsyncByteStream):
    """Gives the lane back when the response is closed."""

    def __init__(
        self, stream: httpx.AsyncByteStream, lane: httpx.AsyncBaseTransport, idle: list[httpx.AsyncBaseTransport]
    ) -> None:
        self._stream = stream
        self._lane: httpx.AsyncBaseTransport | None = lane
        self._idle = idle

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece

    async def aclose(self) -> None:
        lane, self._lane = self._lane, None
        if lane is None:
            return
        try:
            await self._stream.aclose()
        except BaseException:
            await lane.aclose()
            raise
        self._idle.append(lane)
