"""What an adapter left running and nobody could end, and how a process ends that does not wait for it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

# For the threads and exit functions of others, once all is written.
_PATIENCE_S = 1.0
_kept: list[object] = []


def keep(tasks: Iterable[object]) -> None:
    """Tasks that do not end. One that was collected would complain on standard error, and go on in between."""
    _kept.extend(tasks)


def leave(code: int) -> NoReturn:
    """Ends the process, as `sys.exit` does, unless something is left that would hold it up."""
    if _kept or _has_threads():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        if _kept:
            os._exit(code)
        watchdog = threading.Timer(_PATIENCE_S, os._exit, (code,))
        watchdog.daemon = True
        watchdog.start()
    sys.exit(code)


def _has_threads() -> bool:
    """Whether there are threads that the interpreter waits for: most only have to be told that it ends."""
    return any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())
