"""What a user is told when forum itself is at fault: that it is, and what to send."""

import platform
import sys
import tempfile
import traceback

import click

from forum_runner import __version__


def report_defect(error: BaseException) -> None:
    click.echo(f"forum: this is a defect of forum itself: {type(error).__name__}: {error}", err=True)
    about = f"forum {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    command = f"arguments: {sys.argv[1:]!r}\n\n"
    trace = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="forum-defect-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as stream:
            stream.write(about + command + trace)
    except OSError:
        click.echo(f"Please report it with this:\n\n{about}{command}{trace}", err=True)
        return
    click.echo(f"Please report it to the project's issue tracker, with the file {stream.name}", err=True)
    click.echo("It holds versions, your command's arguments and where it failed; look through it first.", err=True)
