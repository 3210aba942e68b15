"""The command `forum-conformance`: reads arguments, runs a subcommand, and turns every ending into an exit code."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from forum_conformance.commands import judge, mutate, smoke, test
from forum_conformance.commands.ending import ExitCode, UsageError
from forum_conformance.commands.screen import write

_PROGRAM = "forum-conformance"
_COMMANDS = (
    judge,
    test,
    smoke,
    mutate,
)


def main(argv: Sequence[str] | None = None) -> int:
    try:
        return _run(argv)
    except UsageError as error:
        return _fail(ExitCode.USAGE, str(error))
    except OSError as error:
        where = f" '{error.filename}'" if error.filename else ""
        return _fail(ExitCode.USAGE, f"cannot read or write{where}: {error.strerror or error}")
    except KeyboardInterrupt:
        return _fail(ExitCode.INTERRUPTED, "interrupted")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        sentence = f"this is a defect of forum itself: {type(error).__name__} in {where}: {error}"
        return _fail(ExitCode.DEFECT, f"{sentence}\nPlease report it to the project's issue tracker.")


def _run(argv: Sequence[str] | None) -> int:
    arguments = _parser().parse_args(argv)
    code: int = arguments.run(arguments)
    return code


def _fail(code: ExitCode, message: str) -> int:
    write(sys.stderr, f"{_PROGRAM}: {message}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM, description="Judges ledgers and implementations, whoever wrote them."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_to(commands)
    return parser
