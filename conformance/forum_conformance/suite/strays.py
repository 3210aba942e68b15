"""Processes that a program started and that left its process group, as daemons do: found and ended, on Linux.

An orphan below a command that adopts orphans becomes its child, whatever it did to get away. Which program it belongs
to, a mark in its environment tells. One without the mark, because its environment was made anew, is ended with the
suite.
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
_PATIENCE_S = 5.0
_NAP_S = 0.002
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class _Child:
    """A child of this process in another session, as programs have one, and all that they start."""

    pid: int
    group: int
    has_ended: bool


def new_mark() -> str:
    return f"{os.getpid()}-{next(_numbers)}"


def marked_environment(mark: str) -> dict[str, str]:
    return {**os.environ, MARK: mark}


@contextmanager
def nobody_left_behind() -> Iterator[None]:
    """For a command, which starts nothing but programs under test: it adopts their orphans, and ends them."""
    before = {child.pid for child in _children()}
    adopts = _set_adoption(1)
    try:
        yield
    finally:
        if adopts:
            _end(lambda child: child.pid not in before)
            _set_adoption(0)


def end_marked(mark: str) -> None:
    """For a program whose own process is gone. Where orphans are not adopted, nobody is found."""
    line = f"{MARK}={mark}".encode()
    _end(lambda child: line in _content(f"/proc/{child.pid}/environ").split(b"\0"))


def reap_group(group: int) -> None:
    """Those of a program's group who outlived it, and were killed then."""
    deadline = time.monotonic() + _PATIENCE_S
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                time.sleep(_NAP_S)


def _end(is_meant: Callable[[_Child], bool]) -> None:
    """When one dies its children are found next, until nobody is left. Who cannot be killed is given up."""
    deadline = time.monotonic() + _PATIENCE_S
    killed: set[int] = set()
    while time.monotonic() < deadline:
        meant = [child for child in _children() if child.pid in killed or is_meant(child)]
        if not meant:
            return
        for child in meant:
            killed.add(child.pid)
            # Nobody else waits for it: until it is reaped here, its number is its own.
            if child.has_ended:
                _reap(child)
            else:
                _kill(child)
        time.sleep(_NAP_S)


def _kill(child: _Child) -> None:
    # The whole group at once, also one that is being forked. A group lies within a session: no stranger is in it.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.group, signal.SIGKILL)


def _reap(child: _Child) -> None:
    with suppress(ChildProcessError):
        os.waitpid(child.pid, os.WNOHANG)


def _children() -> Iterator[_Child]:
    here, session = os.getpid(), os.getsid(0)
    for folder in Path("/proc").glob("[0-9]*"):
        # A program's name may hold brackets and blanks; the last bracket ends it.
        state, *numbers = _content(f"{folder}/stat").rpartition(b")")[2].split()[:4] or [b""]
        parent, group, of_session = map(int, numbers or (0, 0, 0))
        # With 1 or less, a signal would go to others than a group.
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
