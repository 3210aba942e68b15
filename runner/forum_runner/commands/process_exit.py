"""Ends the process without waiting for what an adapter left running."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

# For threads and exit functions of adapters, after everything has been written.
_PATIENCE_S = 1.0
_kept: list[object] = []


def keep(tasks: Iterable[object]) -> None:
    """Keeps references to tasks that do not end: asyncio prints an error when it collects a pending task."""
    _kept.extend(tasks)


def leave(code: int) -> NoReturn:
    """As `sys.exit`, unless something would keep the process alive."""
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
    """Whether the interpreter would wait for threads."""
    return any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())
