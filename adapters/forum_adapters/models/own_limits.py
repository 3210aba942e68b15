"""Failures of this machine, which look like those of the other side."""

from __future__ import annotations

import codecs
import errno
import os
import socket
from collections.abc import Iterator

TOO_MANY_FILES = "this process has too many files open; raise the limit (`ulimit -n`) or lower max_parallel"
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
# Names of hosts are written in it. It is a file too, and loaded here lest it be wanted when no file can be opened.
codecs.lookup("idna")


def is_out_of_files(error: BaseException) -> bool:
    causes = list(_causes(error))
    if any(isinstance(cause, OSError) and cause.errno in _OUT_OF_FILES for cause in causes):
        return True
    # A resolver that can open nothing says only that the name leads nowhere.
    return any(isinstance(cause, socket.gaierror) for cause in causes) and _is_no_file_left()


def root_of(error: BaseException) -> BaseException:
    """The layers above say only that something failed below."""
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
    # A context that is not suppressed may be another's: an error that our caller is about to handle.
    below = error.__cause__ or (error.__context__ if error.__suppress_context__ else None)
    if below is not None:
        yield below


def _is_no_file_left() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in _OUT_OF_FILES
    return False
