"""A model server with programmable faults: real HTTP on a real port, in the formats of OpenAI and Anthropic.

    with FaultyServer() as server:
        server.will(refuses(429, headers={"retry-after": "1"}), says("all is well"))
        ...  # send requests to server.base_url
        assert server.requests[0].headers["authorization"] == "Bearer key"

Each request uses the next step. After the last step, every request uses `default_step`.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from servers.formats import Format, ModelAnswer, complete_answer, streamed_answer
from servers.http_bytes import Request, chunked, json_response, read_request

_START_TIMEOUT_S = 10
# The value of SO_LINGER for a timeout of 0 seconds: closing resets the connection.
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for a while, or until the client disconnects."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """Close or reset the connection."""

    is_reset: bool = False


# Connections that wait at a barrier continue together.
Act = bytes | Pause | Cut | asyncio.Barrier
Step = Callable[[Request], Iterable[Act]]


def does(*acts: Act) -> Step:
    """Return a step that performs the same acts for any request."""
    return lambda _: acts


def says(*pieces: str, **fields: Any) -> Step:
    """Return a step that sends a complete answer in the request's format, streamed if the request asks for it.

    `fields` are fields of `ModelAnswer`.
    """
    answer = ModelAnswer(pieces, **fields) if pieces else ModelAnswer(**fields)

    def step(request: Request) -> list[bytes]:
        format_ = Format.of_path(request.path)
        if request.document.get("stream"):
            return chunked(streamed_answer(format_, answer))
        return [json_response(200, complete_answer(format_, answer))]

    return step


def refuses(status: int, message: str = "no", headers: Mapping[str, str] | None = None, **labels: str | int) -> Step:
    """Return a step that sends an error in the shape that both formats share. `labels` are its type and code."""
    return does(json_response(status, {"error": {"message": message, **labels}}, headers))


def leaks_key(status: int) -> Step:
    """Return a step that sends an error with the key: unchanged, in base64 and URL-encoded in the message, and in a
    header."""

    def step(request: Request) -> list[bytes]:
        key = request.headers.get("x-api-key") or request.headers["authorization"].removeprefix("Bearer ")
        spellings = (key, base64.b64encode(key.encode()).decode(), quote(key, safe=""))
        document = {"error": {"message": f"the key {spellings[0]}, or {spellings[1]}, or {spellings[2]}, is wrong"}}
        return [json_response(status, document, {"x-echo": key})]

    return step


class FaultyServer:
    """Runs in its own thread. Tests can inspect `requests` and `connections`."""

    def __init__(self, default_step: Step | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.default_step = default_step or says()
        self.requests: list[Request] = []
        self.connections = 0
        self._steps: deque[Step] = deque()
        self._open_connections: set[asyncio.Task[None]] = set()
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._is_listening = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._is_listening.wait(_START_TIMEOUT_S), "the server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    def will(self, *steps: Step) -> None:
        """Add steps for the next requests."""
        self._steps.extend(steps)

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Return whether all connections were closed, by either side, within the time."""
        return self._is_idle.wait(timeout_s)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = server.sockets[0].getsockname()[1]
        self._is_listening.set()
        await self._stopped.wait()
        server.close()
        for task in self._open_connections:
            task.cancel()
        await asyncio.gather(*self._open_connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections += 1
        self._open_connections.add(task)
        self._is_idle.clear()
        try:
            with suppress(ConnectionError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            writer.close()
            self._open_connections.discard(task)
            if not self._open_connections:
                self._is_idle.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            self.requests.append(request)
            step = self._steps.popleft() if self._steps else self.default_step
            for act in step(request):
                match act:
                    case bytes():
                        writer.write(act)
                        await writer.drain()
                    case Pause():
                        await _wait(reader, act.seconds)
                    case asyncio.Barrier():
                        await act.wait()
                    case Cut():
                        _close(writer, is_reset=act.is_reset)
                        return


async def _wait(reader: asyncio.StreamReader, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await reader.read(1)
            raise ConnectionAbortedError("the client disconnected")


def _close(writer: asyncio.StreamWriter, *, is_reset: bool) -> None:
    if is_reset:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.close()
