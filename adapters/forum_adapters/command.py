"""The adapter that runs programs without a shell and with only the allowed environment variables.

When a call ends, none of its processes is left running.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from forum_adapters.base import Attempt, ErrorKind, Executable, Failure, Limits, Reply, Site
from forum_adapters.programs.executable import CannotStart, ProgramDigests, explain_refusal, find_program
from forum_adapters.programs.process_keeper import Keeper
from forum_adapters.programs.process_run import ProgramOutcome, ProgramRun, shutdown_reserve_ms
from forum_adapters.programs.process_warden import LaunchRequest

# The time between SIGTERM and SIGKILL, if the budget allows it.
TERM_GRACE_S = 2.0
# The time that processes left behind by a program have to finish writing and exit.
STRAY_GRACE_S = 0.5
# The time to wait after SIGKILL for processes that the kernel cannot end yet.
KILL_PATIENCE_S = 5.0

_SURVIVORS_NOTE = b"\n[a process that this program started could not be ended]\n"
# After these errors, a retry may work. Any other error means that the request is invalid.
_TRANSIENT_ERRNOS = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY})


class CommandAdapter:
    """Runs the program of each call. A call ends when the whole process tree has ended.

    Processes that the program leaves behind are terminated.

    The tree contains every descendant of the program; on Linux that includes daemons (process_tree.py). It does not
    contain processes that others start on its behalf (a container engine, a service manager) or that run as another
    user. On other systems, it does not contain processes that left the process group.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._settings = settings
        self._digests = ProgramDigests()
        self._keeper = Keeper()
        self._running: set[ProgramRun] = set()

    async def answer(self, attempt: Attempt) -> Reply:
        began_s = asyncio.get_running_loop().time()
        try:
            request = self._request(attempt)
            executable = await self._executable(request)
        except CannotStart as problem:
            return Reply(failure=Failure(ErrorKind.INVALID_REQUEST, str(problem)))
        program = attempt.prompt.argv[0]
        try:
            run = ProgramRun(self._keeper, request, attempt.prompt.stdin, attempt.limits, STRAY_GRACE_S, began_s)
        except OSError as error:
            failure = Failure(ErrorKind.TOOL_FAILURE, f"cannot start a process for '{program}': {error}")
            return Reply(failure=failure, executable=executable)
        self._running.add(run)
        try:
            outcome = await run.outcome()
        finally:
            self._running.discard(run)
        return Reply(
            content=outcome.stdout,
            failure=_failure(request, outcome, attempt),
            exit_status=outcome.exit_status,
            executable=executable,
            stderr=outcome.stderr + (_SURVIVORS_NOTE if outcome.has_survivors else b""),
        )

    async def probe(self) -> str | None:
        argv = self._settings.get("argv")
        if not argv:
            return None
        # A policy, which could withhold PATH, applies only to attempts.
        search_path = os.environ.get("PATH") if "PATH" in self._settings.get("env", ()) else None
        try:
            _encode_arguments(argv[0], argv)
            find_program(argv[0], search_path, Path(self._settings.get("cwd", ".")))
        except CannotStart as problem:
            return str(problem)
        return None

    async def close(self) -> None:
        running = list(self._running)
        for run in running:
            run.stop(ErrorKind.CANCELLED)
        await asyncio.gather(*(run.outcome() for run in running))
        await self._keeper.close()

    def _request(self, attempt: Attempt) -> LaunchRequest:
        argv = attempt.prompt.argv
        program = argv[0] if argv else ""
        arguments = _encode_arguments(program, argv)
        env = _environment(self._settings.get("env", ()), attempt.site)
        cwd = _working_directory(program, attempt.site.workspace, self._settings.get("cwd", "."))
        return LaunchRequest(
            program=os.fsencode(find_program(program, env.get("PATH"), cwd)),
            argv=arguments,
            env={os.fsencode(name): os.fsencode(value) for name, value in env.items()},
            cwd=os.fsencode(cwd),
            graces_s=(STRAY_GRACE_S, TERM_GRACE_S, KILL_PATIENCE_S),
        )

    async def _executable(self, request: LaunchRequest) -> Executable | None:
        """The path and digest of the program, or None if the file can be started but not read."""
        try:
            real = Path(os.fsdecode(request.program)).resolve()
            return self._digests.cached(real) or await asyncio.to_thread(self._digests.read, real)
        except OSError:
            return None


def _encode_arguments(program: str, argv: Iterable[str]) -> list[bytes]:
    if not program:
        raise CannotStart(program, "the program has no name")
    try:
        arguments = [os.fsencode(argument) for argument in argv]
    except UnicodeEncodeError as error:
        raise CannotStart(program, "an argument cannot be written in this system's encoding") from error
    if any(b"\0" in argument for argument in arguments):
        raise CannotStart(program, "an argument contains a NUL")
    return arguments


def _environment(names: Iterable[str], site: Site) -> dict[str, str]:
    allows_all = "*" in site.env
    return {name: os.environ[name] for name in names if (allows_all or name in site.env) and name in os.environ}


def _working_directory(program: str, workspace: str, cwd: str) -> Path:
    try:
        root = Path(workspace).resolve()
        directory = (root / cwd).resolve()
        exists = directory.is_dir()
    # Links that form a loop raise RuntimeError, and a NUL raises ValueError.
    except (OSError, RuntimeError, ValueError) as error:
        raise CannotStart(program, f"its directory '{cwd}' cannot be found: {error}") from error
    if not directory.is_relative_to(root):
        raise CannotStart(program, f"its directory '{cwd}' leaves the workspace")
    if not exists:
        raise CannotStart(program, f"its directory '{cwd}' does not exist")
    return directory


def _failure(request: LaunchRequest, outcome: ProgramOutcome, attempt: Attempt) -> Failure | None:
    program = attempt.prompt.argv[0]
    if outcome.refused is not None:
        return _refusal(program, request, outcome.refused)
    match outcome.stopped:
        case ErrorKind.TIMEOUT:
            return Failure(ErrorKind.TIMEOUT, f"'{program}' {_describe_timeout(outcome, attempt.limits)}")
        case ErrorKind.OUTPUT_LIMIT:
            max_bytes = attempt.limits.max_output_bytes
            return Failure(ErrorKind.OUTPUT_LIMIT, f"'{program}' wrote more than {max_bytes} bytes")
        case ErrorKind.CANCELLED:
            return Failure(ErrorKind.CANCELLED, f"'{program}' was cancelled")
    if outcome.broken is not None:
        return Failure(ErrorKind.INTERNAL, f"lost track of '{program}': {outcome.broken}")
    if outcome.exit_status is None:
        return Failure(ErrorKind.TOOL_FAILURE, f"lost track of '{program}': its supervisor was killed")
    return _exit_failure(program, outcome.exit_status)


def _exit_failure(program: str, status: int) -> Failure | None:
    if status == 0:
        return None
    if status > 0:
        return Failure(ErrorKind.EXIT_STATUS, f"'{program}' exited with status {status}")
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"  # a real-time signal
    return Failure(ErrorKind.EXIT_STATUS, f"'{program}' was killed by {name}")


def _refusal(program: str, request: LaunchRequest, number: int) -> Failure:
    kind = ErrorKind.TOOL_FAILURE if number in _TRANSIENT_ERRNOS else ErrorKind.INVALID_REQUEST
    reason = explain_refusal(number, Path(os.fsdecode(request.program)), Path(os.fsdecode(request.cwd)))
    return Failure(kind, f"cannot start '{program}': {reason}")


def _describe_timeout(outcome: ProgramOutcome, limits: Limits) -> str:
    if not limits.is_final:
        return f"took longer than {limits.timeout_ms} ms"
    detail = (
        f"its budget leaves {limits.timeout_ms} ms, and {shutdown_reserve_ms(limits)} ms are reserved for ending it"
    )
    return f"was ended after {outcome.stopped_after_ms} ms: {detail}"
