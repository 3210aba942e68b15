"""The message for an unexpected error, which is a bug in forum."""

import platform
import sys
import tempfile
import traceback

from forum_runner import __version__


def _masked(argument: str) -> str:
    """Hides values of inputs, which may be secret."""
    name, equals, _ = argument.partition("=")
    return f"{name}=..." if equals else argument


def describe_defect(error: BaseException) -> str:
    """Writes the details to a file, and returns a message that names it."""
    head = f"forum: internal error: {type(error).__name__}: {error}"
    versions = f"forum {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    arguments = [_masked(argument) for argument in sys.argv[1:]]
    details = f"{versions}arguments: {arguments!r}\n\n{''.join(traceback.format_exception(error))}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="forum-defect-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as stream:
            stream.write(details)
    except OSError:
        return f"{head}\nThis is a bug in forum. Please report it with these details:\n\n{details}"
    return (
        f"{head}\nThis is a bug in forum. Please report it with the file {stream.name}\n"
        "The file contains versions, the arguments of the command and a traceback. Check it for private data first."
    )
