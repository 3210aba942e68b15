"""The program of a worker process: carries out the attempts that the process engine sends.

Its standard input is a socket to the engine. It exits when the engine closes its side.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import structs

from forum_adapters.base import Limits, Reply
from forum_runner.execute.call_report import Replied
from forum_runner.execute.engines.coroutine_engine import failure_reply
from forum_runner.execute.engines.local import LocalEngine
from forum_runner.execute.engines.reply_check import checked_reply
from forum_runner.execute.engines.worker_messages import (
    CallEnded,
    CancelCall,
    StartCall,
    WorkerReady,
    encode,
    read_request,
)


class _Worker:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._pid = os.getpid()
        self._engine = LocalEngine()
        self._engine.attach(self._send_reports)
        self._settings: dict[str, Mapping[str, Any]] = {}
        # The token and the limits of each open call.
        self._open: dict[str, tuple[bytes, Limits]] = {}

    async def serve(self, reader: asyncio.StreamReader) -> None:
        self._writer.write(encode(WorkerReady(self._pid)))
        with suppress(EOFError, OSError):
            while True:
                request = await read_request(reader)
                if isinstance(request, CancelCall):
                    self._engine.cancel(request.call)
                else:
                    self._start(request)
        await self._engine.close()

    def _start(self, request: StartCall) -> None:
        attempt = request.attempt
        if request.settings is not None:
            self._settings[attempt.adapter] = request.settings
        limits = _remaining_limits(attempt.limits, request.sent_ns)
        self._open[attempt.id] = request.token, limits
        self._engine.begin(structs.replace(attempt, settings=self._settings[attempt.adapter], limits=limits))

    def _send_reports(self) -> None:
        # An adapter that forks may return in both processes.
        if os.getpid() != self._pid:
            os._exit(1)
        for report in self._engine.reports():
            token, limits = self._open.pop(report.call)
            if isinstance(report, Replied):
                self._writer.write(_encoded(token, checked_reply(report.reply, limits)))


def _remaining_limits(limits: Limits, sent_ns: int) -> Limits:
    """The limits without the time that it took to start this process."""
    waited_ms = (time.monotonic_ns() - sent_ns) // 1_000_000
    return structs.replace(limits, timeout_ms=max(limits.timeout_ms - waited_ms, 1))


def _encoded(token: bytes, reply: Reply) -> bytes:
    try:
        return encode(CallEnded(token, reply))
    except (TypeError, ValueError) as error:
        return encode(CallEnded(token, failure_reply(error)))


async def _serve(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=channel)
    await _Worker(writer).serve(reader)


def main() -> None:
    # Programs that adapters start must not inherit the socket.
    channel = socket.socket(fileno=os.dup(0))
    null_fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_fd, 0)
    os.close(null_fd)
    try:
        asyncio.run(_serve(channel))
    finally:
        # Do not wait for threads that adapters left running.
        os._exit(0)
