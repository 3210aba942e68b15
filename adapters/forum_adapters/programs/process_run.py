"""One program from its start to the end of all that it started, seen from the adapter's event loop.

Callbacks on file descriptors: no thread, no task, and no more in memory than is kept.
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
_STDERR_EACH_BYTES = 32 * 1024
# On two cores with seven busy processes, who heeds SIGTERM is gone in 40 ms, and who does not 60 ms after SIGKILL, with
# fifty below it too. A gigabyte of memory takes the kernel up to 200 ms.
_LEAST_KEPT_MS = 100
_MOST_KEPT_MS = 500
_KEPT_FOR_KILLING_MS = 60


def kept_ms(limits: Limits) -> int:
    """How much of a time that may not be overshot is kept for ending the program: a hundredth, but no less than it
    takes, unless that were more than a tenth."""
    wanted_ms = min(max(limits.timeout_ms // 100, _LEAST_KEPT_MS), _MOST_KEPT_MS)
    return max(min(wanted_ms, limits.timeout_ms // 10), 1)


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """How it went. `stopped` is why we ended it, `stopped_after_ms` when. `refused` is the error number of a start that
    failed, `broken` what happened to the warden. `has_survivors`: somebody could not be ended."""

    stdout: bytes
    stderr: bytes
    exit_status: int | None = None
    stopped: ErrorKind | None = None
    stopped_after_ms: int = 0
    refused: int | None = None
    broken: str | None = None
    has_survivors: bool = False


class ProgramRun:
    """Starts the program at once; `outcome` waits until nobody of its tree is left.

    Ending the tree is the warden's work. When it is done there is nobody left who could write, except somebody else to
    whom a program has handed its stdout: the pipes of such a program are left after `eof_grace_s`.

    A time that may not be overshot counts from `began_s` of the loop's clock, and all that is done for the program
    belongs to it: finding and starting it, ending it, and ending what it leaves behind.
    """

    def __init__(
        self, keeper: Keeper, request: LaunchRequest, stdin: bytes, limits: Limits, eof_grace_s: float, began_s: float
    ) -> None:
        self._keeper = keeper
        self._loop = asyncio.get_running_loop()
        self._began_s = began_s
        self._done = self._loop.create_future()
        self._stdout = FirstBytes(limits.max_output_bytes)
        self._stderr = FirstAndLastBytes(_STDERR_EACH_BYTES)
        self._eof_grace_s = eof_grace_s
        self._stopped: ErrorKind | None = None
        self._stopped_s = began_s
        self._is_asked = False
        self._is_over = False
        self._reports = bytearray()
        self._pipes: dict[int, FirstBytes | FirstAndLastBytes] = {}
        self._stdin: _Feed | None = None
        self._open(request.pack(), stdin)
        self._deadline_s: float | None = None
        self._timers = self._watch_final(limits) if limits.is_final else self._watch(limits)

    def _watch(self, limits: Limits) -> list[asyncio.TimerHandle]:
        return [self._loop.call_later(limits.timeout_ms / 1000, self._time_out)]

    def _watch_final(self, limits: Limits) -> list[asyncio.TimerHandle]:
        """SIGTERM comes so early that SIGKILL comes in time."""
        self._deadline_s = self._began_s + limits.timeout_ms / 1000
        kept = kept_ms(limits)
        killing = min(_KEPT_FOR_KILLING_MS, kept * _KEPT_FOR_KILLING_MS / _LEAST_KEPT_MS)
        return [
            self._loop.call_at(self._deadline_s - kept / 1000, self._time_out),
            self._loop.call_at(self._deadline_s - killing / 1000, self._hurry),
        ]

    def _open(self, request: bytes, stdin: bytes) -> None:
        with ExitStack() as ours, ExitStack() as theirs:
            files = []
            for capture in (self._stdout, self._stderr):
                source, sink = os.pipe()
                ours.callback(os.close, source)
                theirs.callback(os.close, sink)
                files.append(sink)
                self._pipes[source] = capture
            if stdin:
                source, sink = os.pipe()
                ours.callback(os.close, sink)
                theirs.callback(os.close, source)
                files.append(source)
            self._channel = self._keeper.hire()
            ours.callback(self._channel.close)
            sent = socket.send_fds(self._channel, [request], files)
            ours.pop_all()
        self._loop.add_reader(self._channel.fileno(), self._on_report)
        self._request = _Feed(self._loop, self._channel.fileno(), memoryview(request)[sent:], _nothing)
        for pipe, capture in self._pipes.items():
            os.set_blocking(pipe, False)
            self._loop.add_reader(pipe, self._on_output, pipe, capture)
        if stdin:
            self._stdin = _Feed(self._loop, sink, memoryview(stdin), lambda: os.close(sink))

    async def outcome(self) -> ProgramOutcome:
        """A cancellation ends the tree, and is told like any other end: what the program did until then is not lost."""
        while not self._done.done():
            try:
                await asyncio.shield(self._done)
            except asyncio.CancelledError:
                # However often it is cancelled: whoever comes back from here can rely on it that nothing is left.
                if self._stopped is None:
                    self.stop(ErrorKind.CANCELLED)
                else:
                    self._hurry()
        return self._told()

    def stop(self, why: ErrorKind) -> None:
        """Ends the tree. The first reason counts."""
        # Once it is over, the channel belongs to another run.
        if self._stopped is None and not self._is_over:
            self._stopped, self._stopped_s = why, self._loop.time()
            if self._request.is_over:
                self._hurry()
                return
            # A request that is cut short is none.
            self._request.stop()
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)

    def _hurry(self) -> None:
        """The first time asks for an orderly end, the second for one at once."""
        if not self._is_over:
            self._is_asked = True
            with suppress(OSError):
                self._channel.send(b"\0")

    def _time_out(self) -> None:
        if not self._has_ended():
            self.stop(ErrorKind.TIMEOUT)
        elif not self._is_asked:
            # It was in time itself, and what it left behind has no more of it.
            self._hurry()

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
        # What comes after that is still read: who cannot write cannot end in good order.
        if capture.is_over:
            self.stop(ErrorKind.OUTPUT_LIMIT)

    def _on_report(self) -> None:
        try:
            report = self._channel.recv(4096)
        except BlockingIOError:
            return
        except ConnectionResetError:
            report = b""  # the warden went without having read all of the request
        self._reports += report
        if self._has_ended() and self._deadline_s is None:
            self._cancel_timers()
        is_over = self._reports.endswith(b"done\n")
        if is_over or not report:
            # A word that was said too late would be taken for the beginning of the next request.
            self._leave_warden(can_go_on=is_over and self._stopped is None and not self._is_asked)

    def _leave_warden(self, *, can_go_on: bool) -> None:
        self._is_over = True
        self._cancel_timers()
        self._request.stop()
        self._loop.remove_reader(self._channel.fileno())
        if can_go_on:
            self._keeper.dismiss(self._channel)
        else:
            self._channel.close()
        if self._stdin is not None:
            self._stdin.stop()
        if self._pipes:
            leave_s = self._loop.time() + self._eof_grace_s
            if self._deadline_s is not None:
                leave_s = min(leave_s, self._deadline_s)
            self._timers = [self._loop.call_at(leave_s, self._leave_pipes)]
        else:
            self._done.set_result(None)

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _leave_pipes(self) -> None:
        for pipe, capture in list(self._pipes.items()):
            with suppress(BlockingIOError):
                capture.feed(os.read(pipe, _LARGEST_PIPE_BYTES))
            self._close_pipe(pipe)

    def _close_pipe(self, pipe: int) -> None:
        del self._pipes[pipe]
        self._loop.remove_reader(pipe)
        os.close(pipe)
        if self._is_over and not self._pipes:
            self._cancel_timers()
            self._done.set_result(None)

    def _told(self) -> ProgramOutcome:
        words = [line.partition(" ") for line in self._reports.decode("utf-8", "replace").splitlines()]
        told = {word: rest for word, _, rest in words}
        return ProgramOutcome(
            stdout=self._stdout.content(),
            stderr=self._stderr.content(),
            exit_status=int(told["ended"]) if "ended" in told else None,
            # The last of too much may come when there is nobody left to stop.
            stopped=self._stopped or (ErrorKind.OUTPUT_LIMIT if self._stdout.is_over else None),
            stopped_after_ms=round((self._stopped_s - self._began_s) * 1000),
            refused=int(told["refused"]) if "refused" in told else None,
            broken=told.get("broken"),
            has_survivors="left" in told,
        )


class _Feed:
    """Writes bytes as the other side takes them. What it does not want is dropped."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, file: int, content: memoryview, then: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._file = file
        self._left = content
        self._then = then
        self._is_waiting = False
        self.is_over = False
        os.set_blocking(file, False)
        if content:
            self._write()
        else:
            self.stop()
        if not self.is_over:
            self._is_waiting = True
            loop.add_writer(file, self._write)

    def stop(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._left = memoryview(b"")
        if self._is_waiting:
            self._loop.remove_writer(self._file)
        self._then()

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._file, self._left) :]
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            self.stop()
        if not self._left:
            self.stop()


def _nothing() -> None:
    """The channel stays open when the request is written: its end means something."""
