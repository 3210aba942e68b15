"""A program under test as a process: write input, read output within limits, kill it with its children."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from threading import Event
from typing import IO

from forum_conformance.suite.orphan_processes import end_marked, marked_environment, new_mark, reap_group

MAX_ANSWER_BYTES = 1024 * 1024

_STDERR_TAIL_BYTES = 4096
_CHUNK_BYTES = 65536
# How often to check for interrupts, and for programs that have exited while children keep their pipes open.
_POLL_INTERVAL_S = 0.05
# A program that has closed its standard output gets this long to exit.
_EXIT_GRACE_S = 1.0


class CannotStart(Exception):
    """The program cannot be started: for example, it does not exist or is not executable."""

    def __init__(self, program: str, error: OSError) -> None:
        super().__init__(f"cannot start '{program}': {error.strerror or error}")


class ServeNotOffered(CannotStart):
    """The program does not offer the long-lived mode."""

    def __init__(self) -> None:
        Exception.__init__(self, "the program does not offer 'serve' (exit status 33); omit --serve")


class Ending(Enum):
    """Why an exchange ended."""

    ENDED = "the program ended, or closed its standard output"
    LINE = "a line was read"
    TIMEOUT = "the timeout passed"
    TOO_LONG = "the output was too long for an answer"
    STOPPED = "the suite was stopped"


class Process:
    """A running program. `stdout` is its output so far; callers remove the part that they have used."""

    def __init__(self, command: Sequence[str], *, folder: Path, stop: Event) -> None:
        self._mark = new_mark()
        self._was_cut_off = False
        try:
            # A separate session has a separate process group, which can be killed as a whole.
            self._popen = subprocess.Popen(  # noqa: S603 - the program that the user named, without a shell
                command,
                cwd=folder,
                env=marked_environment(self._mark),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            # Not the program's fault: its working directory was removed.
            if not folder.is_dir():
                raise
            raise CannotStart(command[0], error) from error
        self._stop = stop
        self._selector = selectors.DefaultSelector()
        self._to_send = memoryview(b"")
        self._closes_input = self._is_sending = False
        self._stderr = b""
        self._open_pipes = {"stdout", "stderr"}
        self.stdout = b""
        for name in ("stdin", "stdout", "stderr"):
            os.set_blocking(self._pipe(name).fileno(), False)
        for name in self._open_pipes:
            self._selector.register(self._pipe(name), selectors.EVENT_READ, name)

    def exchange(self, data: bytes, *, timeout_s: float, is_line_mode: bool) -> Ending:
        """Send the data. In line mode, read one line; otherwise close the input and read until the program exits."""
        deadline = time.monotonic() + timeout_s
        if not self._is_sending:
            self._selector.register(self._pipe("stdin"), selectors.EVENT_WRITE, "stdin")
            self._is_sending = True
        self._to_send = memoryview(bytes(self._to_send) + data)
        self._closes_input = not is_line_mode
        ending = self._read_until(deadline, is_line_mode=is_line_mode)
        self._was_cut_off = ending not in (Ending.ENDED, Ending.LINE)
        return ending

    def _read_until(self, deadline: float, *, is_line_mode: bool) -> Ending:
        while True:
            if len(self.stdout) > MAX_ANSWER_BYTES:
                return Ending.TOO_LONG
            if is_line_mode and b"\n" in self.stdout:
                return Ending.LINE
            remaining = deadline - time.monotonic()
            if self._stop.is_set():
                return Ending.STOPPED
            if remaining <= 0:
                return Ending.TIMEOUT
            if self._transfer(min(remaining, _POLL_INTERVAL_S), is_line_mode=is_line_mode):
                return Ending.ENDED

    def _transfer(self, wait_s: float, *, is_line_mode: bool) -> bool:
        """Write and read what is possible within `wait_s`. Return whether the program ended or closed its output."""
        if is_line_mode and "stdout" not in self._open_pipes:
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(_EXIT_GRACE_S)
            return True
        if not self._open_pipes:
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(wait_s)
            return self._popen.returncode is not None
        # Poll before reading, not after: if the program has exited before the read, all its output is in the pipes.
        # If it exits after the read, it may have written more.
        has_ended = self._popen.poll() is not None
        events = self._selector.select(wait_s)
        for key, _ in events:
            if key.data == "stdin":
                self._send()
            else:
                self._read(key.data)
        # Do not wait for the pipes to close: children of the program may keep them open forever.
        return not events and has_ended

    def _send(self) -> None:
        pipe = self._pipe("stdin")
        try:
            sent = os.write(pipe.fileno(), self._to_send[:_CHUNK_BYTES])
        except BlockingIOError:
            return
        except BrokenPipeError:
            # A program may answer without reading its input.
            sent = len(self._to_send)
        self._to_send = self._to_send[sent:]
        if not self._to_send:
            self._selector.unregister(pipe)
            self._is_sending = False
            if self._closes_input:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _read(self, name: str) -> bool:
        """Read a chunk from the pipe. Return whether there was data."""
        pipe = self._pipe(name)
        try:
            data = os.read(pipe.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(pipe)
            self._open_pipes.discard(name)
        elif name == "stdout":
            self.stdout += data
        else:
            self._stderr = (self._stderr + data)[-_STDERR_TAIL_BYTES:]
        return bool(data)

    def end(self) -> int | None:
        """Kill the program's processes and return its exit status.

        The status is negative for a signal, and None if the suite killed the program. If the program exited by itself,
        processes that left its group may run until the suite ends: a compiler that stays as a server does no harm.
        """
        status = self._popen.poll()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        reap_group(self._popen.pid)
        if status is None or self._was_cut_off:
            end_marked(self._mark)
        while "stderr" in self._open_pipes and self._read("stderr"):
            pass
        self._selector.close()
        for name in ("stdin", "stdout", "stderr"):
            with suppress(OSError):
                self._pipe(name).close()
        return status

    def close_input(self, *, timeout_s: float) -> int | None:
        """Close the program's input and return its exit status, or None if it did not exit in time."""
        with suppress(OSError):
            self._pipe("stdin").close()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(timeout_s)
        while "stdout" in self._open_pipes and self._read("stdout"):
            pass
        return self._popen.returncode

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def _pipe(self, name: str) -> IO[bytes]:
        pipe: IO[bytes] | None = getattr(self._popen, name)
        if pipe is None:
            raise ValueError(f"{name} is not a pipe")
        return pipe
