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
from forum_conformance.suite.process import MAX_ANSWER, Ending, Process, ServeNotOffered

NOT_OFFERED = 33

_EXIT_TIMEOUT_S = 5.0


class Stopped(Exception):
    """The suite is stopping and does not wait for an answer."""


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

    words: tuple[str, ...]
    timeout_s: float
    stop: Event
    scratch: Path
    """The parent of working directories."""
    has_served: Event = field(default_factory=Event)
    """Set once a process of the program has answered in serve mode."""


class Client(Protocol):
    def ask(self, request: Mapping[str, Any]) -> Reply: ...

    def close(self) -> str | None:
        """Problems of a long-lived program when its input is closed."""
        ...


class OneShot:
    """One process per request."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def ask(self, request: Mapping[str, Any]) -> Reply:
        program = self._program
        folder = Path(tempfile.mkdtemp(dir=program.scratch))
        began = time.monotonic()
        try:
            process = Process((*program.words, request["role"]), folder=folder, stop=program.stop)
            try:
                ending = process.exchange(_line(request), timeout_s=program.timeout_s, one_line=False)
            finally:
                status = process.end()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        took = _ms_since(began)
        try:
            _raise_for_ending(ending, program.timeout_s)
            _raise_for_status(status)
            answer = read_answer(process.stdout, id_=request["id"], repeats_id=False)
        except BadAnswer as error:
            return Reply(None, error.difference, status, took, process.stderr)
        return Reply(answer, None, status, took, process.stderr)

    def close(self) -> str | None:
        return None


class Served:
    """One process for all requests, restarted after a failure."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: Process | None = None
        self._folder: Path | None = None

    def ask(self, request: Mapping[str, Any]) -> Reply:
        began = time.monotonic()
        process = self._process or self._start()
        is_kept, status = False, None
        try:
            ending = process.exchange(_line(request), timeout_s=self._program.timeout_s, one_line=True)
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
            answer = self._answer(process, request)
            is_kept = True
            self._program.has_served.set()
        except BadAnswer as error:
            return Reply(None, error.difference, status, _ms_since(began), self._final_stderr(), is_served=True)
        finally:
            if not is_kept:
                self._drop()
        return Reply(answer, None, None, _ms_since(began), process.stderr, is_served=True)

    def _answer(self, process: Process, request: Mapping[str, Any]) -> dict[str, Any]:
        line, _, rest = process.stdout.partition(b"\n")
        process.stdout = b""
        if rest:
            raise BadAnswer("standard output", "one line", f"more: {preview(rest)}")
        return read_answer(line, id_=request["id"], repeats_id=True)

    def _final_stderr(self) -> str:
        if self._process is None:
            return ""
        self._process.end()
        return self._process.stderr

    def _start(self) -> Process:
        self._folder = Path(tempfile.mkdtemp(dir=self._program.scratch))
        self._process = Process((*self._program.words, "serve"), folder=self._folder, stop=self._program.stop)
        return self._process

    def _drop(self) -> None:
        if self._process:
            self._process.end()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._process = self._folder = None

    def close(self) -> str | None:
        problem = None
        if self._process and not self._program.stop.is_set():
            problem = _exit_problem(self._process)
        self._drop()
        return problem


def _exit_problem(process: Process) -> str | None:
    status = process.close_input(timeout_s=_EXIT_TIMEOUT_S)
    if status is None:
        return "it did not exit when its standard input was closed, and was killed"
    if status != 0:
        return f"when its standard input was closed: {status_text(status)}"
    return f"after its last answer it wrote {preview(process.stdout.strip())}" if process.stdout else None


def _line(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request).encode() + b"\n"


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _raise_for_ending(ending: Ending, timeout_s: float, *, hint: str = "") -> None:
    if ending is Ending.STOPPED:
        raise Stopped
    if ending is Ending.TIMEOUT:
        raise BadAnswer("time", f"an answer within {timeout_s:g} s", f"none; the program was killed{hint}")
    if ending is Ending.TOO_MUCH:
        raise BadAnswer("standard output", f"at most {MAX_ANSWER} bytes", "more; the program was killed")


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


def words_of(command: Sequence[str], start: Path) -> tuple[str, ...]:
    """Make words that are existing paths absolute, because a program runs in its own directory.

    A word with neither a slash nor a dot is a name, even if such a file exists.
    """
    return tuple(
        str(start / word) if ("/" in word or "." in word) and _is_there(start / word) else word for word in command
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
