"""Write to standard streams."""

import os
import sys
from typing import TextIO


def write(stream: TextIO, text: str) -> None:
    """Write the text, with characters that the stream's encoding does not support escaped."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def say(text: str) -> None:
    try:
        write(sys.stdout, text)
        sys.stdout.flush()
    except BrokenPipeError:
        # A closed pipe must not change the exit code, nor fail again when the rest is flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
