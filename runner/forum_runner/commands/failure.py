"""The message and the exit code of a command that failed."""

from __future__ import annotations

import click

from forum_runner.errors import ExitCode, FileAccessError, ForumError


def describe_failure(error: BaseException) -> tuple[str, ExitCode]:
    """For any error but click's own, which come with the usage of the command."""
    if isinstance(error, OSError):
        error = FileAccessError(error)
    if isinstance(error, ForumError):
        return f"forum: {error}", error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "forum: interrupted", ExitCode.INTERRUPTED
    from forum_runner.defect import describe_defect

    return describe_defect(error), ExitCode.DEFECT
