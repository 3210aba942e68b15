"""A worker process as the process engine sees it."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from msgspec import structs

from forum_adapters.base import Attempt, ErrorKind, Failure, Reply
from forum_adapters.programs.process_keeper import Keeper
from forum_adapters.programs.process_warden import LaunchRequest
from forum_runner.execute.engines.coroutine_engine import LostCall
from forum_runner.execute.engines.worker_messages import (
    CallEnded,
    CancelCall,
    InvalidMessage,
    StartCall,
    WorkerReady,
    encode,
    read_response,
)

_START_CODE = "import sys; sys.path[:] = sys.argv[1:]; from forum_runner.execute.engines.worker import main; main()"
# How long to wait for processes that a worker leaves behind, after SIGTERM, and after SIGKILL. The second time is
# longer than the grace period that an adapter in the worker gives its programs.
_GRACES_S = (0.2, 2.5, 5.0)
# The maximum size of a reply without its content.
_OVERHEAD_BYTES = 16 << 20
_BUFFER_BYTES = 1 << 20


class WorkerProcess:
    """Carries out one attempt at a time.

    The worker runs under a warden, as programs do: everything that it starts ends with it, and it ends with the runner.
    When the worker ends, the stream ends, because no other process holds the socket.
    """

    def __init__(self, keeper: Keeper) -> None:
        """Raises OSError if no process can be started."""
        self.pid: int | None = None
        self.calls = 0
        self._settings: dict[str, Mapping[str, Any]] = {}
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._socket, theirs = socket.socketpair()
        with ExitStack() as undo:
            undo.callback(self._socket.close)
            with theirs, Path(os.devnull).open("wb") as null:
                self._warden = keeper.start(_request(), (null.fileno(), null.fileno(), theirs.fileno()))
            undo.pop_all()

    async def answer(self, attempt: Attempt) -> Reply:
        """The worker's reply. Raises LostCall if the worker ends or sends an invalid message before it replies."""
        self.calls += 1
        try:
            reader, writer = await self._connected()
            writer.write(self._message(attempt))
            if self.pid is None and not await self._is_ready(reader):
                return Reply(failure=Failure(ErrorKind.TOOL_FAILURE, "the worker process did not start"))
            response = await read_response(reader, attempt.limits.max_output_bytes + _OVERHEAD_BYTES)
        except (EOFError, OSError, InvalidMessage) as error:
            raise LostCall from error
        if not isinstance(response, CallEnded) or response.call != attempt.id:
            raise LostCall
        return response.reply

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self._socket, limit=_BUFFER_BYTES)
        return self._streams

    async def _is_ready(self, reader: asyncio.StreamReader) -> bool:
        try:
            response = await read_response(reader, _OVERHEAD_BYTES)
        except (EOFError, OSError):
            return False
        self.pid = response.pid if isinstance(response, WorkerReady) else None
        return self.pid is not None

    def _message(self, attempt: Attempt) -> bytes:
        """The message that starts an attempt. Settings may contain a whole script, so a worker gets them once."""
        name, settings = attempt.adapter, attempt.settings
        is_known = self._settings.get(name) is settings
        self._settings[name] = settings
        sent = None if is_known else dict(settings)
        return encode(StartCall(structs.replace(attempt, settings={}), sent, time.monotonic_ns()))

    def cancel(self, call: str) -> bool:
        """Asks the worker to end the call. Returns False if the worker cannot have received the call."""
        if self._streams is None:
            return False
        self._streams[1].write(encode(CancelCall(call)))
        return True

    def kill(self) -> None:
        """Ends the process and everything that it started: with SIGTERM, then SIGKILL."""
        self._warden.close()

    def discard(self) -> None:
        """Kills the worker without waiting for its end."""
        self.kill()
        if self._streams is None:
            self._socket.close()
        else:
            self._streams[1].transport.abort()

    async def close(self, patience_s: float) -> None:
        """Lets an idle worker close its adapters, then ends it."""
        if self._streams is not None:
            reader, writer = self._streams
            with suppress(OSError):
                writer.write_eof()
                await asyncio.wait({asyncio.ensure_future(reader.read())}, timeout=patience_s)
        self.discard()


def _request() -> LaunchRequest:
    program = os.fsencode(sys.executable)
    path = [os.fsencode(entry) for entry in sys.path]
    # Adapters read their credentials from the environment.
    env = dict(os.environb)
    # The keeper runs in the runner's directory.
    return LaunchRequest(program, [program, b"-c", _START_CODE.encode(), *path], env, b".", _GRACES_S)
