"""The message and the exit code of a command that failed."""

from __future__ import annotations

import click

from forum_runner.errors import ExitCode, FileAccessError, ForumError


def describe_failure(error: BaseException) -> tuple[str, ExitCode]:
    """The message and the exit code for any error except those of click, which also show the usage of the command."""
    if isinstance(error, OSError):
        error = FileAccessError(error)
    if isinstance(error, ForumError):
        from forum_runner.finding import visible

        # The message may name a file that somebody else created.
        return f"forum: {visible(str(error))}", error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "forum: interrupted", ExitCode.INTERRUPTED
    from forum_runner.defect import describe_defect

    return describe_defect(error), ExitCode.DEFECT
