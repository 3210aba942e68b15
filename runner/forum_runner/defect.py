"""What a user is told when forum itself is at fault: that it is, and what to send."""

import platform
import sys
import tempfile
import traceback

from forum_runner import __version__


def describe_defect(error: BaseException) -> str:
    """The message; what a maintainer needs to know goes to a file that the message names."""
    head = f"forum: this is a defect of forum itself: {type(error).__name__}: {error}"
    about = f"forum {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    details = f"{about}arguments: {sys.argv[1:]!r}\n\n{''.join(traceback.format_exception(error))}"
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
