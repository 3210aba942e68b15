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
from forum_adapters.programs.process_keeper import Keeper, is_quiet
from forum_adapters.programs.process_warden import LaunchRequest
from forum_runner.execute.engines.coroutine_engine import LostCall
from forum_runner.execute.engines.worker_messages import (
    CallEnded,
    CancelCall,
    InvalidMessage,
    StartCall,
    WorkerReady,
    encode,
    receive_response,
)

_START_CODE = "import sys; sys.path[:] = sys.argv[1:]; from forum_runner.execute.engines.worker import main; main()"
# How long to wait for processes that a worker leaves behind, after SIGTERM, and after SIGKILL. The second time is
# longer than the grace period that an adapter in the worker gives its programs.
_GRACES_S = (0.2, 2.5, 5.0)
# The maximum size of a reply without its content.
_OVERHEAD_BYTES = 16 << 20
_TOKEN_BYTES = 16


class WorkerProcess:
    """Carries out one attempt at a time.

    The worker runs under a warden, as programs do: everything that it starts ends with it, and it ends with the runner.
    When the worker ends, the socket is closed, because no other process holds it.
    """

    def __init__(self, keeper: Keeper) -> None:
        """Raises OSError if no process can be started."""
        self.pid: int | None = None
        self.calls = 0
        self._is_sent = False
        self._settings: dict[str, Mapping[str, Any]] = {}
        self._loop = asyncio.get_running_loop()
        self._socket, theirs = socket.socketpair()
        with ExitStack() as undo:
            undo.callback(self._socket.close)
            with theirs, Path(os.devnull).open("wb") as null:
                self._warden = keeper.start(_request(), (null.fileno(), null.fileno(), theirs.fileno()))
            undo.pop_all()
        self._socket.setblocking(False)
        self._warden.setblocking(False)

    def is_reusable(self) -> bool:
        """Whether the idle worker is alive and has sent nothing after its last reply."""
        return is_quiet(self._socket) and is_quiet(self._warden)

    async def answer(self, attempt: Attempt) -> Reply:
        """The worker's reply. Raises LostCall if the worker ends or sends an invalid message before it replies."""
        self.calls += 1
        token = os.urandom(_TOKEN_BYTES)
        try:
            await self._loop.sock_sendall(self._socket, self._message(attempt, token))
        except OSError:
            return Reply(failure=Failure(ErrorKind.TOOL_FAILURE, "the worker process did not receive the call"))
        self._is_sent = True
        try:
            if self.pid is None and not await self._is_ready():
                return Reply(failure=Failure(ErrorKind.TOOL_FAILURE, "the worker process did not start"))
            return await self._receive_reply(token, attempt.limits.max_output_bytes + _OVERHEAD_BYTES)
        except (EOFError, OSError, InvalidMessage) as error:
            raise LostCall from error
        finally:
            self._is_sent = False

    async def _is_ready(self) -> bool:
        try:
            response = await receive_response(self._socket, _OVERHEAD_BYTES)
        except (EOFError, OSError):
            return False
        self.pid = response.pid if isinstance(response, WorkerReady) else None
        return self.pid is not None

    async def _receive_reply(self, token: bytes, max_bytes: int) -> Reply:
        while True:
            response = await receive_response(self._socket, max_bytes)
            if isinstance(response, CallEnded) and response.token == token:
                return response.reply
            # An adapter sent this message, not the worker. A stream of such messages must not block the event loop.
            await asyncio.sleep(0)

    def _message(self, attempt: Attempt, token: bytes) -> bytes:
        """The message that starts an attempt. Settings may contain a whole script, so a worker gets them once."""
        name, settings = attempt.adapter, attempt.settings
        is_known = self._settings.get(name) is settings
        self._settings[name] = settings
        sent = None if is_known else dict(settings)
        return encode(StartCall(token, structs.replace(attempt, settings={}), sent, time.monotonic_ns()))

    def cancel(self, call: str) -> bool:
        """Asks the worker to end the call. Returns False if the worker cannot have received the call."""
        if self._is_sent:
            with suppress(OSError):
                self._socket.send(encode(CancelCall(call)))
        return self._is_sent

    def kill(self) -> None:
        """Ends the process and everything that it started: with SIGTERM, then SIGKILL."""
        self._warden.close()

    def discard(self) -> None:
        """Kills the worker without waiting for its end."""
        self.kill()
        # A cancelled call may still be registered with the loop.
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()

    async def close(self, patience_s: float) -> None:
        """Lets an idle worker close its adapters, then ends it."""
        try:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)
                async with asyncio.timeout(patience_s):
                    await self._loop.sock_recv(self._socket, 1)
        finally:
            self.discard()


def _request() -> LaunchRequest:
    program = os.fsencode(sys.executable)
    path = [os.fsencode(entry) for entry in sys.path]
    # Adapters read their credentials from the environment.
    env = dict(os.environb)
    # The keeper runs in the runner's directory.
    return LaunchRequest(program, [program, b"-c", _START_CODE.encode(), *path], env, b".", _GRACES_S)
