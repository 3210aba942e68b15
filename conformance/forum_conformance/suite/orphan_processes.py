"""Find and kill processes that left a program's process group, as daemons do, on Linux.

The suite adopts orphans: they become its children, however they detached. A mark in the environment identifies the
program that an orphan belongs to. An orphan with a cleared environment has no mark and is killed when the suite ends.
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

MARK_VARIABLE = "FORUM_CONFORMANCE_PROGRAM"

# From <linux/prctl.h>.
_PR_SET_CHILD_SUBREAPER = 36
_KILL_TIMEOUT_S = 5.0
_RETRY_INTERVAL_S = 0.002
_mark_numbers = count(1)


@dataclass(frozen=True, slots=True)
class _Child:
    """A child of this process in a different session: a program under test, or an adopted orphan."""

    pid: int
    group: int
    has_ended: bool


def new_mark() -> str:
    return f"{os.getpid()}-{next(_mark_numbers)}"


def marked_environment(mark: str) -> dict[str, str]:
    return {**os.environ, MARK_VARIABLE: mark}


@contextmanager
def killing_orphans() -> Iterator[None]:
    """Adopt the orphans of programs under test, and kill them at the end.

    Use this only in a command that starts no other processes: it kills every child that it did not have before.
    """
    before = {child.pid for child in _children()}
    adopts = _set_adoption(1)
    try:
        yield
    finally:
        if adopts:
            _kill_all(lambda child: child.pid not in before)
            _set_adoption(0)


def end_marked(mark: str) -> None:
    """Kill the orphans of a program whose own process has exited. Has no effect if orphans are not adopted."""
    assignment = f"{MARK_VARIABLE}={mark}".encode()
    _kill_all(lambda child: assignment in _content(f"/proc/{child.pid}/environ").split(b"\0"))


def reap_group(group: int) -> None:
    """Reap the processes of a program's group that outlived it and were killed."""
    deadline = time.monotonic() + _KILL_TIMEOUT_S
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                time.sleep(_RETRY_INTERVAL_S)


def _kill_all(is_target: Callable[[_Child], bool]) -> None:
    """Kill and reap the matching children.

    Repeat until none is left, because the children of a killed process become children of this one. Give up after a
    few seconds, because some processes cannot be killed.
    """
    deadline = time.monotonic() + _KILL_TIMEOUT_S
    killed: set[int] = set()
    while time.monotonic() < deadline:
        targets = [child for child in _children() if child.pid in killed or is_target(child)]
        if not targets:
            return
        for child in targets:
            killed.add(child.pid)
            # No other code waits for this child, so its pid cannot be reused until it is reaped here.
            if child.has_ended:
                _reap(child)
            else:
                _kill(child)
        time.sleep(_RETRY_INTERVAL_S)


def _kill(child: _Child) -> None:
    # Kill the whole group, including processes that are just being forked. A group never spans two sessions, so all
    # its processes belong to the program.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.group, signal.SIGKILL)


def _reap(child: _Child) -> None:
    with suppress(ChildProcessError):
        os.waitpid(child.pid, os.WNOHANG)


def _children() -> Iterator[_Child]:
    own_pid, own_session = os.getpid(), os.getsid(0)
    for folder in Path("/proc").glob("[0-9]*"):
        # A program's name may contain parentheses and spaces; the last parenthesis ends it.
        state, *numbers = _content(f"{folder}/stat").rpartition(b")")[2].split()[:4] or [b""]
        parent, group, session = map(int, numbers or (0, 0, 0))
        # killpg with a group of 1 or less would signal unrelated processes.
        if parent == own_pid and session != own_session and group > 1:
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
