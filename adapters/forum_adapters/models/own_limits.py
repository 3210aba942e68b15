"""Recognizes failures of this machine that look like failures of the server."""

from __future__ import annotations

import codecs
import errno
import os
import socket
from collections.abc import Iterator

TOO_MANY_FILES = "this process has too many files open; raise the limit (`ulimit -n`) or lower max_parallel"
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
# The codec of host names. Python loads it from a file: load it here, before files run out.
codecs.lookup("idna")


def is_out_of_files(error: BaseException) -> bool:
    causes = list(_causes(error))
    if any(isinstance(cause, OSError) and cause.errno in _OUT_OF_FILES for cause in causes):
        return True
    # A resolver that cannot open files only reports that the name is unknown.
    return any(isinstance(cause, socket.gaierror) for cause in causes) and _is_no_file_left()


def root_of(error: BaseException) -> BaseException:
    """The innermost cause: outer exceptions only say that something below failed."""
    below = next(_below(error), None)
    return error if below is None else root_of(below)


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    for below in _below(error):
        yield from _causes(below)


def _below(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        yield from error.exceptions
        return
    # A context that is not suppressed may be unrelated: an error that the caller is handling.
    below = error.__cause__ or (error.__context__ if error.__suppress_context__ else None)
    if below is not None:
        yield below


def _is_no_file_left() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in _OUT_OF_FILES
    return False
