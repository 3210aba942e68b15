"""Runs one program in the adapter's event loop, until its whole process tree has ended.

Uses callbacks on file descriptors: no threads, no tasks, and no buffers beyond the captured output.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from forum_adapters.base import ErrorKind, Limits
from forum_adapters.programs.output_capture import FirstAndLastBytes, FirstBytes
from forum_adapters.programs.process_keeper import Keeper
from forum_adapters.programs.process_warden import LaunchRequest

_CHUNK_BYTES = 65536
_LARGEST_PIPE_BYTES = 1 << 20
# How much of the beginning and of the end of stderr is kept.
_STDERR_PART_BYTES = 32 * 1024
# Measured on two cores with seven busy processes: a process that handles SIGTERM exits within 40 ms; others exit within
# 60 ms of SIGKILL, even with fifty descendants. Freeing a gigabyte of memory takes the kernel up to 200 ms.
_MIN_RESERVE_MS = 100
_MAX_RESERVE_MS = 500
_KILL_RESERVE_MS = 60


def shutdown_reserve_ms(limits: Limits) -> int:
    """The part of a final timeout that is reserved for ending the program.

    It is a hundredth of the timeout, within fixed bounds, but at most a tenth.
    """
    wanted_ms = min(max(limits.timeout_ms // 100, _MIN_RESERVE_MS), _MAX_RESERVE_MS)
    return max(min(wanted_ms, limits.timeout_ms // 10), 1)


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """The result of a program.

    `stopped` is the reason why the adapter ended the program, after `stopped_after_ms`. `refused` is the error number
    of a failed start, `broken` the error of a failed warden. `has_survivors` means that a process could not be ended.
    """

    stdout: bytes
    stderr: bytes
    exit_status: int | None = None
    stopped: ErrorKind | None = None
    stopped_after_ms: int = 0
    refused: int | None = None
    broken: str | None = None
    has_survivors: bool = False


class ProgramRun:
    """A running program. It is started at once; `outcome` waits until its whole process tree has ended.

    The warden ends the tree. After that, only a process outside the tree can still hold the program's stdout: then the
    pipes are closed after `eof_grace_s`.

    A final timeout counts from `began_s` of the loop's clock. It includes everything that is done for the program:
    finding and starting it, ending it, and ending the processes that it leaves behind.
    """

    def __init__(
        self, keeper: Keeper, request: LaunchRequest, stdin: bytes, limits: Limits, eof_grace_s: float, began_s: float
    ) -> None:
        self._keeper = keeper
        self._loop = asyncio.get_running_loop()
        self._began_s = began_s
        self._done = self._loop.create_future()
        self._stdout = FirstBytes(limits.max_output_bytes)
        self._stderr = FirstAndLastBytes(_STDERR_PART_BYTES)
        self._eof_grace_s = eof_grace_s
        self._stopped: ErrorKind | None = None
        self._stopped_s = began_s
        self._is_stop_requested = False
        self._is_finished = False
        self._reports = bytearray()
        self._pipes: dict[int, FirstBytes | FirstAndLastBytes] = {}
        self._stdin: _Writer | None = None
        self._open(request.pack(), stdin)
        self._deadline_s: float | None = None
        self._timers = self._watch_final(limits) if limits.is_final else self._watch(limits)

    def _watch(self, limits: Limits) -> list[asyncio.TimerHandle]:
        return [self._loop.call_later(limits.timeout_ms / 1000, self._time_out)]

    def _watch_final(self, limits: Limits) -> list[asyncio.TimerHandle]:
        """Sends SIGTERM early enough for SIGKILL to work in time."""
        self._deadline_s = self._began_s + limits.timeout_ms / 1000
        reserve_ms = shutdown_reserve_ms(limits)
        kill_ms = min(_KILL_RESERVE_MS, reserve_ms * _KILL_RESERVE_MS / _MIN_RESERVE_MS)
        return [
            self._loop.call_at(self._deadline_s - reserve_ms / 1000, self._time_out),
            self._loop.call_at(self._deadline_s - kill_ms / 1000, self._request_stop),
        ]

    def _open(self, request: bytes, stdin: bytes) -> None:
        with ExitStack() as ours, ExitStack() as theirs:
            fds = []
            for capture in (self._stdout, self._stderr):
                source, sink = os.pipe()
                ours.callback(os.close, source)
                theirs.callback(os.close, sink)
                fds.append(sink)
                self._pipes[source] = capture
            if stdin:
                source, sink = os.pipe()
                ours.callback(os.close, sink)
                theirs.callback(os.close, source)
                fds.append(source)
            self._channel = self._keeper.hire()
            ours.callback(self._channel.close)
            sent = socket.send_fds(self._channel, [request], fds)
            ours.pop_all()
        self._loop.add_reader(self._channel.fileno(), self._on_report)
        self._request = _Writer(self._loop, self._channel.fileno(), memoryview(request)[sent:], _keep_open)
        for pipe, capture in self._pipes.items():
            os.set_blocking(pipe, False)
            self._loop.add_reader(pipe, self._on_output, pipe, capture)
        if stdin:
            self._stdin = _Writer(self._loop, sink, memoryview(stdin), lambda: os.close(sink))

    async def outcome(self) -> ProgramOutcome:
        """Waits for the end of the tree and returns the result, after a cancellation too, so that no output is lost."""
        while not self._done.done():
            try:
                await asyncio.shield(self._done)
            except asyncio.CancelledError:
                # Keep waiting after every cancellation: when this returns, nothing is left running.
                if self._stopped is None:
                    self.stop(ErrorKind.CANCELLED)
                else:
                    self._request_stop()
        return self._outcome()

    def stop(self, reason: ErrorKind) -> None:
        """Ends the tree. The first reason counts."""
        # Once this run is over, the channel belongs to another run.
        if self._stopped is None and not self._is_finished:
            self._stopped, self._stopped_s = reason, self._loop.time()
            if self._request.is_finished:
                self._request_stop()
                return
            # The warden ignores an incomplete request.
            self._request.stop()
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)

    def _request_stop(self) -> None:
        """Asks the warden to end the tree: the first request lets it exit cleanly, the second kills it."""
        if not self._is_finished:
            self._is_stop_requested = True
            with suppress(OSError):
                self._channel.send(b"\0")

    def _time_out(self) -> None:
        if not self._has_ended():
            self.stop(ErrorKind.TIMEOUT)
        elif not self._is_stop_requested:
            # The program itself ended in time; end the processes that it left behind.
            self._request_stop()

    def _has_ended(self) -> bool:
        return self._reports.startswith(b"ended")

    def _on_output(self, pipe: int, capture: FirstBytes | FirstAndLastBytes) -> None:
        try:
            chunk = os.read(pipe, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            self._close_pipe(pipe)
            return
        capture.feed(chunk)
        # Keep reading: a program that cannot write cannot exit cleanly.
        if capture.is_exceeded:
            self.stop(ErrorKind.OUTPUT_LIMIT)

    def _on_report(self) -> None:
        try:
            report = self._channel.recv(4096)
        except BlockingIOError:
            return
        except ConnectionResetError:
            report = b""  # the warden exited before it had read the whole request
        self._reports += report
        if self._has_ended() and self._deadline_s is None:
            self._cancel_timers()
        is_finished = self._reports.endswith(b"done\n")
        if is_finished or not report:
            # A warden would read a late byte as the beginning of the next request.
            self._leave_warden(is_reusable=is_finished and self._stopped is None and not self._is_stop_requested)

    def _leave_warden(self, *, is_reusable: bool) -> None:
        self._is_finished = True
        self._cancel_timers()
        self._request.stop()
        self._loop.remove_reader(self._channel.fileno())
        if is_reusable:
            self._keeper.dismiss(self._channel)
        else:
            self._channel.close()
        if self._stdin is not None:
            self._stdin.stop()
        if self._pipes:
            close_s = self._loop.time() + self._eof_grace_s
            if self._deadline_s is not None:
                close_s = min(close_s, self._deadline_s)
            self._timers = [self._loop.call_at(close_s, self._close_pipes)]
        else:
            self._done.set_result(None)

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _close_pipes(self) -> None:
        for pipe, capture in list(self._pipes.items()):
            with suppress(BlockingIOError):
                capture.feed(os.read(pipe, _LARGEST_PIPE_BYTES))
            self._close_pipe(pipe)

    def _close_pipe(self, pipe: int) -> None:
        del self._pipes[pipe]
        self._loop.remove_reader(pipe)
        os.close(pipe)
        if self._is_finished and not self._pipes:
            self._cancel_timers()
            self._done.set_result(None)

    def _outcome(self) -> ProgramOutcome:
        lines = [line.partition(" ") for line in self._reports.decode("utf-8", "replace").splitlines()]
        reports = {word: rest for word, _, rest in lines}
        return ProgramOutcome(
            stdout=self._stdout.content(),
            stderr=self._stderr.content(),
            exit_status=int(reports["ended"]) if "ended" in reports else None,
            # The output may exceed the limit after the last process has ended.
            stopped=self._stopped or (ErrorKind.OUTPUT_LIMIT if self._stdout.is_exceeded else None),
            stopped_after_ms=round((self._stopped_s - self._began_s) * 1000),
            refused=int(reports["refused"]) if "refused" in reports else None,
            broken=reports.get("broken"),
            has_survivors="survivors" in reports,
        )


class _Writer:
    """Writes bytes to a pipe as its reader accepts them. Drops the rest if the reader closes the pipe."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, fd: int, content: memoryview, on_end: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._remaining = content
        self._on_end = on_end
        self._is_waiting = False
        self.is_finished = False
        os.set_blocking(fd, False)
        if content:
            self._write()
        else:
            self.stop()
        if not self.is_finished:
            self._is_waiting = True
            loop.add_writer(fd, self._write)

    def stop(self) -> None:
        if self.is_finished:
            return
        self.is_finished = True
        self._remaining = memoryview(b"")
        if self._is_waiting:
            self._loop.remove_writer(self._fd)
        self._on_end()

    def _write(self) -> None:
        try:
            self._remaining = self._remaining[os.write(self._fd, self._remaining) :]
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            self.stop()
        if not self._remaining:
            self.stop()


def _keep_open() -> None:
    """Does nothing: closing the channel after the request would end the program."""
