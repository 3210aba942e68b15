"""Ends the process even if an adapter left tasks or threads running."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

# How long threads and exit functions of adapters may take, after everything has been written.
_CLEANUP_TIMEOUT_S = 1.0
_pending: list[object] = []


def keep_pending(tasks: Iterable[object]) -> None:
    """Keeps references to tasks that do not end: asyncio prints an error when it collects a pending task."""
    _pending.extend(tasks)


def exit_process(code: int) -> NoReturn:
    """Exits like `sys.exit`, but waits only a moment for threads, and not at all if tasks did not end."""
    if _pending or _has_threads():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        if _pending:
            os._exit(code)
        watchdog = threading.Timer(_CLEANUP_TIMEOUT_S, os._exit, (code,))
        watchdog.daemon = True
        watchdog.start()
    sys.exit(code)


def _has_threads() -> bool:
    """Whether the interpreter would wait for threads."""
    return any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())
