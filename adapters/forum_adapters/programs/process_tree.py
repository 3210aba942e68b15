"""Tracks and ends all descendants of this process, including detached ones.

Only a process that does nothing else (process_warden.py) may use this module: the adapter's process would adopt
unrelated processes. The module imports little, because every start of that process waits for the imports.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36
# Processes that fork and exit quickly escape a walk through /proc, but not repeated scans of the direct children.
_CHILD_SCANS_PER_ROUND = 200
_MAX_WAIT_S = 0.05


def adopt_orphans() -> bool:
    """Makes orphaned descendants children of this process. Returns False if the system does not support it."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


class Wakeup:
    """Waits for a descriptor and for children at the same time: SIGCHLD writes into a pipe."""

    def __init__(self) -> None:
        self._source, sink = os.pipe()
        os.set_blocking(self._source, False)
        os.set_blocking(sink, False)
        signal.signal(signal.SIGCHLD, _ignore)
        signal.set_wakeup_fd(sink, warn_on_full_buffer=False)

    def wait(self, fd: int | None, timeout_s: float | None) -> bool:
        """Waits until `fd` is readable (returns True), a child has changed, or the time has passed (returns False)."""
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        if fd is not None:
            poll.register(fd, select.POLLIN)
        ready = {ready_fd for ready_fd, _ in poll.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000)}
        if self._source in ready:
            os.read(self._source, 4096)
        return fd in ready


def _ignore(*_: object) -> None:
    """A signal handler that does nothing. Without a handler, nothing is written into the pipe."""


class ProcessTree:
    """A program and all processes that it started.

    This process is a subreaper: it becomes the parent of every orphaned descendant, even after setsid, double forks and
    a cleared environment. So one system call that finds no child proves that nothing is left. The alternatives are
    weaker: `env -i` removes a mark in the environment, and parent links break when a parent dies. Both need a walk
    through /proc, even for a program that leaves nothing behind.

    If the system does not support this, the tree is the program's process group.
    """

    def __init__(self, root: int, *, adopts: bool) -> None:
        self.root = root
        self.exit_status: int | None = None
        self._adopts = adopts
        self._has_children = True

    @property
    def is_gone(self) -> bool:
        return not self._has_children and (self._adopts or not _signal_group(self.root, 0))

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._has_children = False
                return
            if pid == 0:
                return
            if pid == self.root:
                self.exit_status = os.waitstatus_to_exitcode(status)

    def end(self, wakeup: Wakeup, grace_s: float, patience_s: float, kill_now_fd: int | None = None) -> None:
        """Sends SIGTERM, and SIGKILL after `grace_s` or as soon as `kill_now_fd` is readable.

        Then it waits for up to `patience_s`. Afterwards, `is_gone` says whether all processes have ended.
        """
        groups = self._groups()
        for group in groups:
            _signal_group(group, signal.SIGTERM)
            _signal_group(group, signal.SIGCONT)  # a stopped process cannot handle signals
        deadline_s = time.monotonic() + grace_s
        self.reap()
        while not self.is_gone and (remaining_s := deadline_s - time.monotonic()) > 0:
            if wakeup.wait(kill_now_fd, remaining_s if self._adopts else min(remaining_s, _MAX_WAIT_S)):
                break
            self.reap()
        deadline_s = time.monotonic() + patience_s
        while not self.is_gone and time.monotonic() < deadline_s:
            self._kill()
            if not self.is_gone:
                wakeup.wait(None, _MAX_WAIT_S)
                self.reap()

    def _kill(self) -> None:
        for group in self._groups():
            _signal_group(group, signal.SIGKILL)
        for _ in range(_CHILD_SCANS_PER_ROUND):
            self.reap()
            if not self._has_children:
                return
            # These children are not reaped yet, so the system cannot have reused their ids.
            for child in _children():
                _signal(child, signal.SIGKILL)

    def _groups(self) -> set[int]:
        groups = groups_below(os.getpid()) if self._adopts else set()
        return groups or {self.root}


def kill_strays(spared: set[int]) -> bool:
    """Kills all descendants of this process except `spared` and their descendants. Returns whether there were any."""
    processes = _processes()
    here = os.getpid()
    strays = {pid for pid, (parent, _) in processes.items() if parent == here} - spared
    for stray in strays:
        for group in _groups_below(stray, processes) | {processes[stray][1]}:
            _signal_group(group, signal.SIGKILL)
    return bool(strays)


def groups_below(pid: int) -> set[int]:
    """The process groups of all processes below `pid`.

    Signals go to groups because the kernel reaches all members at once, even one that is being forked. Each program
    starts its own session, and a group is within one session: these groups contain no unrelated processes.
    """
    return _groups_below(pid, _processes())


def _groups_below(pid: int, processes: dict[int, tuple[int, int]]) -> set[int]:
    below: dict[int, list[int]] = {}
    for child, (parent, _) in processes.items():
        below.setdefault(parent, []).append(child)
    groups: set[int] = set()
    pending = list(below.get(pid, ()))
    while pending:
        child = pending.pop()
        groups.add(processes[child][1])
        pending += below.pop(child, ())
    return groups


def _processes() -> dict[int, tuple[int, int]]:
    """The parent and the process group of every visible process."""
    processes: dict[int, tuple[int, int]] = {}
    try:
        with os.scandir("/proc") as folders:
            pids = [int(folder.name) for folder in folders if folder.name.isdigit()]
    except OSError:
        return processes
    for pid in pids:
        # A program's name may contain brackets and spaces; the last bracket ends it.
        fields = _read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split(maxsplit=3)
        if len(fields) == 4:
            processes[pid] = (int(fields[1]), int(fields[2]))
    return processes


def _children() -> list[int]:
    return [int(pid) for pid in _read_file(f"/proc/{os.getpid()}/task/{os.getpid()}/children").split()]


def _read_file(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""  # the process ended between the two calls
    finally:
        os.close(fd)


def _signal_group(group: int, number: int) -> bool:
    # kill(-1) would reach every process of the user, and kill(0) this one.
    return group > 1 and group != os.getpgrp() and _signal(-group, number)


def _signal(pid: int, number: int) -> bool:
    """Sends a signal. Returns whether a process received it."""
    try:
        os.kill(pid, number)
    except OSError as error:
        return error.errno == errno.EPERM
    return True
