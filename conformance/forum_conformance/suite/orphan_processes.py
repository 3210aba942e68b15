"""Find and kill processes that left a program's process group, as daemons do, on Linux.

Orphans become children of a command that adopts orphans, however they detached. A mark in the environment identifies
the program that an orphan belongs to. An orphan with a cleared environment has no mark and is killed when the suite
ends.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

MARK = "FORUM_CONFORMANCE_PROGRAM"

_PR_SET_CHILD_SUBREAPER = 36
_KILL_TIMEOUT_S = 5.0
_RETRY_INTERVAL_S = 0.002
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class _Child:
    """A child of this process in another session, like programs under test and their children."""

    pid: int
    group: int
    has_ended: bool


def new_mark() -> str:
    return f"{os.getpid()}-{next(_numbers)}"


def marked_environment(mark: str) -> dict[str, str]:
    return {**os.environ, MARK: mark}


@contextmanager
def killing_orphans() -> Iterator[None]:
    """For a command that starts only programs under test: adopt their orphans, and kill them at the end."""
    before = {child.pid for child in _children()}
    adopts = _set_adoption(1)
    try:
        yield
    finally:
        if adopts:
            _end(lambda child: child.pid not in before)
            _set_adoption(0)


def end_marked(mark: str) -> None:
    """For a program whose own process has exited. Finds nothing if orphans are not adopted."""
    line = f"{MARK}={mark}".encode()
    _end(lambda child: line in _content(f"/proc/{child.pid}/environ").split(b"\0"))


def reap_group(group: int) -> None:
    """Reap the processes of a program's group that outlived it and were killed."""
    deadline = time.monotonic() + _KILL_TIMEOUT_S
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                time.sleep(_RETRY_INTERVAL_S)


def _end(is_meant: Callable[[_Child], bool]) -> None:
    """Repeat until none is left, because killing one exposes its children. Skip processes that cannot be killed."""
    deadline = time.monotonic() + _KILL_TIMEOUT_S
    killed: set[int] = set()
    while time.monotonic() < deadline:
        meant = [child for child in _children() if child.pid in killed or is_meant(child)]
        if not meant:
            return
        for child in meant:
            killed.add(child.pid)
            # Nothing else waits for it: its pid cannot be reused until it is reaped here.
            if child.has_ended:
                _reap(child)
            else:
                _kill(child)
        time.sleep(_RETRY_INTERVAL_S)


def _kill(child: _Child) -> None:
    # Kill the whole group, including processes being forked. A group is within a session, so all belong to it.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.group, signal.SIGKILL)


def _reap(child: _Child) -> None:
    with suppress(ChildProcessError):
        os.waitpid(child.pid, os.WNOHANG)


def _children() -> Iterator[_Child]:
    here, session = os.getpid(), os.getsid(0)
    for folder in Path("/proc").glob("[0-9]*"):
        # A program's name may contain parentheses and spaces; the last parenthesis ends it.
        state, *numbers = _content(f"{folder}/stat").rpartition(b")")[2].split()[:4] or [b""]
        parent, group, of_session = map(int, numbers or (0, 0, 0))
        # With 1 or less, the signal would go to other processes.
        if parent == here and of_session != session and group > 1:
            yield _Child(int(folder.name), group, state in (b"Z", b"X"))


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _set_adoption(value: int) -> bool:
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False
