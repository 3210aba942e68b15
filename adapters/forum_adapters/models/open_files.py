"""Recognizes that this process has too many open files, which looks like a failure of the server."""

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
    return any(isinstance(cause, socket.gaierror) for cause in causes) and _has_no_free_file()


def root_cause(error: BaseException) -> BaseException:
    """The innermost cause. The outer exceptions only say that something failed."""
    cause = next(_direct_causes(error), None)
    return error if cause is None else root_cause(cause)


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    for cause in _direct_causes(error):
        yield from _causes(cause)


def _direct_causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        yield from error.exceptions
        return
    # A context that is not suppressed may be an unrelated error that the caller is handling.
    cause = error.__cause__ or (error.__context__ if error.__suppress_context__ else None)
    if cause is not None:
        yield cause


def _has_no_free_file() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in _OUT_OF_FILES
    return False
