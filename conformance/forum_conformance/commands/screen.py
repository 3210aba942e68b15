"""Writes to the screen, or to what stands in for it."""

import os
import sys
from typing import TextIO


def write(stream: TextIO, text: str) -> None:
    """What the stream's encoding has no room for is escaped."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def say(text: str) -> None:
    try:
        write(sys.stdout, text)
        sys.stdout.flush()
    except BrokenPipeError:
        # A reader that has seen enough is no reason for another exit code; what is left must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
