"""What ends a command otherwise than by its result: what is said of it, and the exit code."""

from __future__ import annotations

import click

from forum_runner.errors import ExitCode, ForumError


def describe_failure(error: BaseException) -> tuple[str, ExitCode]:
    """Of anything but wrong usage of the command line, which is told with how it is used."""
    if isinstance(error, ForumError):
        return f"forum: {error}", error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "forum: interrupted", ExitCode.INTERRUPTED
    if isinstance(error, OSError):
        where = f" '{error.filename}'" if error.filename else ""
        return f"forum: cannot read or write{where}: {error.strerror or error}", ExitCode.INVALID
    from forum_runner.defect import describe_defect

    return describe_defect(error), ExitCode.DEFECT
