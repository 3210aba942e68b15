"""Send requests to a program: one process per request, or one for all."""

import json
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from forum_conformance.suite.answer import BadAnswer, read_answer
from forum_conformance.suite.difference import Difference
from forum_conformance.suite.display import preview
from forum_conformance.suite.process import MAX_ANSWER_BYTES, Ending, Process, ServeNotOffered

NOT_OFFERED = 33

_EXIT_TIMEOUT_S = 5.0


class Stopped(Exception):
    """Raised instead of waiting for an answer when the suite stops."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of one request: an answer, or a problem."""

    answer: Mapping[str, Any] | None
    problem: Difference | None
    exit_status: int | None
    """Negative for a signal; None if the suite killed the program or it is still running."""
    duration_ms: int
    stderr: str
    is_served: bool = False
    """Whether the process serves many requests: then its exit status does not refer to a role."""

    @property
    def is_not_offered(self) -> bool:
        return self.exit_status == NOT_OFFERED and self.answer is None and not self.is_served

    @property
    def is_unsupported(self) -> bool:
        return self.answer is not None and self.answer["verdict"] == "unsupported"


@dataclass(frozen=True, slots=True)
class Program:
    """The program under test, and its timeout."""

    command: tuple[str, ...]
    timeout_s: float
    stop: Event
    """Set when the suite stops."""
    scratch: Path
    """The parent of working directories."""
    has_served: Event = field(default_factory=Event)
    """Set once a process of the program has answered in serve mode."""


class Client(Protocol):
    def send(self, request: Mapping[str, Any]) -> Reply: ...

    def close(self) -> str | None:
        """End the program. Returns a problem if a long-lived program did not end properly."""
        ...


class OneShotClient:
    """One process per request."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def send(self, request: Mapping[str, Any]) -> Reply:
        program = self._program
        folder = Path(tempfile.mkdtemp(dir=program.scratch))
        started = time.monotonic()
        try:
            process = Process((*program.command, request["role"]), folder=folder, stop=program.stop)
            try:
                ending = process.exchange(_request_line(request), timeout_s=program.timeout_s, is_line_mode=False)
            finally:
                status = process.end()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        duration_ms = _ms_since(started)
        try:
            _raise_for_ending(ending, program.timeout_s)
            _raise_for_status(status)
            answer = read_answer(process.stdout, id_=request["id"], requires_id=False)
        except BadAnswer as error:
            return Reply(None, error.difference, status, duration_ms, process.stderr)
        return Reply(answer, None, status, duration_ms, process.stderr)

    def close(self) -> str | None:
        return None


class ServeClient:
    """One process for all requests, restarted after a failure."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: Process | None = None
        self._folder: Path | None = None

    def send(self, request: Mapping[str, Any]) -> Reply:
        started = time.monotonic()
        process = self._process or self._start()
        is_reusable, status = False, None
        try:
            ending = process.exchange(_request_line(request), timeout_s=self._program.timeout_s, is_line_mode=True)
            _raise_for_ending(ending, self._program.timeout_s, hint="; did it flush its output?")
            if ending is Ending.ENDED:
                status = process.end()
                if status == NOT_OFFERED and not self._program.has_served.is_set():
                    raise ServeNotOffered
                raise BadAnswer(
                    "process",
                    "answers, then waits for the next request",
                    f"ended without an answer, {status_text(status)}",
                )
            answer = self._read_answer(process, request)
            is_reusable = True
            self._program.has_served.set()
        except BadAnswer as error:
            return Reply(None, error.difference, status, _ms_since(started), self._final_stderr(), is_served=True)
        finally:
            if not is_reusable:
                self._discard_process()
        return Reply(answer, None, None, _ms_since(started), process.stderr, is_served=True)

    def _read_answer(self, process: Process, request: Mapping[str, Any]) -> dict[str, Any]:
        line, _, rest = process.stdout.partition(b"\n")
        process.stdout = b""
        if rest:
            raise BadAnswer("standard output", "one line", f"more output after it: {preview(rest)}")
        return read_answer(line, id_=request["id"], requires_id=True)

    def _final_stderr(self) -> str:
        if self._process is None:
            return ""
        self._process.end()
        return self._process.stderr

    def _start(self) -> Process:
        self._folder = Path(tempfile.mkdtemp(dir=self._program.scratch))
        self._process = Process((*self._program.command, "serve"), folder=self._folder, stop=self._program.stop)
        return self._process

    def _discard_process(self) -> None:
        if self._process:
            self._process.end()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._process = self._folder = None

    def close(self) -> str | None:
        problem = None
        if self._process and not self._program.stop.is_set():
            problem = _exit_problem(self._process)
        self._discard_process()
        return problem


def _exit_problem(process: Process) -> str | None:
    status = process.close_input(timeout_s=_EXIT_TIMEOUT_S)
    if status is None:
        return "it did not exit when its standard input was closed, and was killed"
    if status != 0:
        return f"after its standard input was closed: {status_text(status)}"
    return f"after its last answer it wrote {preview(process.stdout.strip())}" if process.stdout else None


def _request_line(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request).encode() + b"\n"


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _raise_for_ending(ending: Ending, timeout_s: float, *, hint: str = "") -> None:
    if ending is Ending.STOPPED:
        raise Stopped
    if ending is Ending.TIMEOUT:
        raise BadAnswer("time", f"an answer within {timeout_s:g} s", f"none; the program was killed{hint}")
    if ending is Ending.TOO_LONG:
        raise BadAnswer("standard output", f"at most {MAX_ANSWER_BYTES} bytes", "more; the program was killed")


def _raise_for_status(status: int | None) -> None:
    if status != 0:
        expected = f"0, or {NOT_OFFERED} for a role that is not offered"
        raise BadAnswer("exit status", expected, status_text(status))


def status_text(status: int | None) -> str:
    if status is None:
        return "killed by the suite"
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def absolute_command(command: Sequence[str], current_folder: Path) -> tuple[str, ...]:
    """Make words that are existing paths absolute, because a program runs in its own directory.

    A word with neither a slash nor a dot is a name, even if such a file exists.
    """
    return tuple(
        str(current_folder / word) if ("/" in word or "." in word) and _exists(current_folder / word) else word
        for word in command
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
