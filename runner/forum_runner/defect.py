"""What a user is told when forum itself is at fault: that it is, and what to send."""

import platform
import sys
import tempfile
import traceback

from forum_runner import __version__


def _masked(argument: str) -> str:
    """The value of an input may be a secret."""
    name, equals, _ = argument.partition("=")
    return f"{name}=..." if equals else argument


def describe_defect(error: BaseException) -> str:
    """The message; what a maintainer needs to know goes to a file that the message names."""
    head = f"forum: this is a defect of forum itself: {type(error).__name__}: {error}"
    about = f"forum {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    arguments = [_masked(argument) for argument in sys.argv[1:]]
    details = f"{about}arguments: {arguments!r}\n\n{''.join(traceback.format_exception(error))}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="forum-defect-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as stream:
            stream.write(details)
    except OSError:
        return f"{head}\nPlease report it to the project's issue tracker, with this:\n\n{details}"
    return (
        f"{head}\nPlease report it to the project's issue tracker, with the file {stream.name}\n"
        "It holds versions, your command's arguments and where it failed; look through it first."
    )
