"""The command `forum-conformance`: parse arguments, run a subcommand, and map every outcome to an exit code."""

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from forum_conformance import __version__
from forum_conformance.commands import judge, mutate, smoke, test
from forum_conformance.commands.console import write
from forum_conformance.commands.exit_codes import ExitCode, UsageError

_PROGRAM = "forum-conformance"
_COMMANDS = (
    judge,
    test,
    smoke,
    mutate,
)


def main(argv: Sequence[str] | None = None) -> int:
    _open_closed_streams()
    try:
        with _termination_as_interrupt():
            return _run(argv)
    except UsageError as error:
        return _fail(ExitCode.USAGE, str(error))
    except OSError as error:
        path = f" '{error.filename}'" if error.filename else ""
        return _fail(ExitCode.USAGE, f"cannot read or write{path}: {error.strerror or error}")
    except KeyboardInterrupt:
        return _fail(ExitCode.INTERRUPTED, "interrupted")
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        location = f"{Path(frame.filename).name}, line {frame.lineno}"
        description = f"internal error: {type(error).__name__} in {location}: {error}"
        return _fail(
            ExitCode.DEFECT, f"{description}\nThis is a bug in forum-conformance. Please report it with these details."
        )


def _run(argv: Sequence[str] | None) -> int:
    arguments = _parser().parse_args(argv)
    code: int = arguments.run(arguments)
    return code


def _fail(code: ExitCode, message: str) -> int:
    # A closed standard error must not change the exit code.
    with suppress(OSError):
        write(sys.stderr, f"{_PROGRAM}: {message}\n")
    return code


def _open_closed_streams() -> None:
    """Redirect closed standard streams to the null device, so that no other file gets their descriptors."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(fd, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Treat termination like Ctrl-C: leave no processes and no temporary directories behind."""
    # Handlers can be set in the main thread only. Signals ignored on purpose (nohup) stay ignored.
    is_main = threading.current_thread() is threading.main_thread()
    handled = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, _interrupt) for number in handled if is_main}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_PROGRAM, description="Judge ledgers and test implementations.")
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_to(commands)
    return parser
