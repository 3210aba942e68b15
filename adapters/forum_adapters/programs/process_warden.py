"""The supervisor processes between the adapter and its programs.

A warden is the parent of one program at a time. It reports how the program ended, and it ends everything that the
program started: after the program ends, when the adapter sends a byte, or when the channel to the adapter closes, which
also happens if the adapter dies. After a second byte, it does not wait for a clean exit. The keeper starts once and
forks the wardens, because the adapter's own process may be large and have threads. A warden whose tree has ended takes
the next program: forking for each program would take three times as long as a trivial program runs.

A request is its length in 4 bytes, sent with the program's stdout, stderr and optional stdin, then the fields of
`pack`, separated by NUL, which no argument can contain. A report is a line: `ended STATUS`, `refused ERRNO`,
`broken WHY`, `survivors` (a process of the tree could not be ended), and `done` when the warden can take the next
request.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from forum_adapters.programs.process_tree import ProcessTree, Wakeup, adopt_orphans, kill_strays

_LENGTH_BYTES = 4
_MAX_FDS = 3
# How often, and how long each time, the keeper waits for the last processes before it exits.
_LAST_TRIES = 20
_LAST_WAIT_S = 0.05
# A program must not be able to kill its warden by sending a signal to its parent. After SIGKILL, the keeper cleans up.
_IGNORED_SIGNALS = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
)
# Python ignores the first two, and a program would inherit that.
_RESET_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ, *_IGNORED_SIGNALS)


class LaunchRequest:
    """A program to start.

    `graces_s` are the times to wait for processes that the program leaves behind, after SIGTERM, and after SIGKILL.
    """

    def __init__(
        self,
        program: bytes,
        argv: list[bytes],
        env: dict[bytes, bytes],
        cwd: bytes,
        graces_s: tuple[float, float, float],
    ) -> None:
        self.program = program
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.graces_s = graces_s

    def pack(self) -> bytes:
        head = (*(b"%d" % round(grace_s * 1000) for grace_s in self.graces_s), b"%d" % len(self.argv))
        variables = (name + b"=" + value for name, value in self.env.items())
        body = b"\0".join((*head, self.cwd, self.program, *self.argv, *variables))
        return len(body).to_bytes(_LENGTH_BYTES, "big") + body

    @classmethod
    def unpack(cls, body: bytes) -> LaunchRequest:
        stray, term, kill, count, cwd, program, *rest = body.split(b"\0")
        env = dict(variable.split(b"=", 1) for variable in rest[int(count) :])
        return cls(program, rest[: int(count)], env, cwd, (int(stray) / 1000, int(term) / 1000, int(kill) / 1000))


def run_keeper(control: socket.socket) -> None:
    """Forks a warden for each channel that it receives, until the adapter closes the control socket."""
    adopt_orphans()
    for number in _IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    wakeup = Wakeup()
    wardens: set[int] = set()
    may_have_strays = False
    while True:
        has_message = wakeup.wait(control.fileno(), None)
        may_have_strays |= _reap_wardens(wardens)
        # One pass over /proc may miss processes. When the processes that it killed exit, SIGCHLD wakes this loop, and
        # it looks again.
        may_have_strays = may_have_strays and kill_strays(wardens)
        if not has_message:
            continue
        message, channels = _receive_fds(control, 1, 1)
        if not message:
            break
        for channel in channels:
            _fork_warden(control, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=channel), wardens)
    while wardens:
        wakeup.wait(None, 1.0)
        _reap_wardens(wardens)
    _end_last_strays(wakeup)


def _end_last_strays(wakeup: Wakeup) -> None:
    """Tries a last time to end processes that a killed warden left to the keeper, then gives up."""
    for _ in range(_LAST_TRIES):
        _reap_wardens(set())
        if not kill_strays(set()):
            return
        wakeup.wait(None, _LAST_WAIT_S)


def _fork_warden(control: socket.socket, channel: socket.socket, wardens: set[int]) -> None:
    with channel:
        try:
            warden = os.fork()
        except OSError as error:
            _report(channel, f"refused {error.errno}")
            return
        if warden == 0:
            # Close the inherited copy: otherwise the socket stays open after the keeper dies, and the adapter's writes
            # still succeed.
            control.close()
            # Always exit. A child that returned to the keeper's loop would be a second keeper.
            os._exit(_run_warden(channel))
        wardens.add(warden)


def _reap_wardens(wardens: set[int]) -> bool:
    """Reaps wardens that ended, and returns whether one was killed.

    A stopped warden is continued, because it must be running when its program ends.
    """
    was_killed = False
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            wardens.clear()
            return was_killed
        if pid == 0:
            return was_killed
        if os.WIFSTOPPED(status):
            os.kill(pid, signal.SIGCONT)
            continue
        was_killed |= pid in wardens and status != 0
        wardens.discard(pid)


def _run_warden(channel: socket.socket) -> int:
    try:
        wakeup = Wakeup()
        adopts = adopt_orphans()
        while _serve(channel, wakeup, adopts=adopts):
            pass
    except BaseException as problem:
        _report(channel, f"broken {type(problem).__name__}: {problem}".replace("\n", " "))
        return 1
    return 0


def _serve(channel: socket.socket, wakeup: Wakeup, *, adopts: bool) -> bool:
    """Runs one program. Returns whether the warden can take another one."""
    head, fds = _receive_fds(channel, _LENGTH_BYTES, _MAX_FDS)
    try:
        body = _receive(channel, int.from_bytes(head, "big"))
        if not body:
            return False
        request = LaunchRequest.unpack(body)
        root = _start(request, fds)
    except OSError as error:
        _report(channel, f"refused {error.errno}", "done")
        return True
    finally:
        for fd in fds:
            os.close(fd)
    return _supervise(channel, ProcessTree(root, adopts=adopts), wakeup, request.graces_s)


def _receive_fds(source: socket.socket, size: int, count: int) -> tuple[bytes, list[int]]:
    content, fds, _, _ = socket.recv_fds(source, size, count)
    # Python leaves received descriptors inheritable, so the program would inherit them.
    for fd in fds:
        os.set_inheritable(fd, False)
    return content, fds


def _receive(channel: socket.socket, size: int) -> bytes:
    """Receives exactly `size` bytes, or returns b"" if the adapter closes the channel early."""
    parts = []
    while size > 0:
        part = channel.recv(min(size, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _start(request: LaunchRequest, fds: Sequence[int]) -> int:
    targets = zip(fds, (1, 2, 0), strict=False)  # without a third descriptor, stdin is the keeper's, which is empty
    try:
        os.chdir(request.cwd)
        return os.posix_spawn(
            request.program,
            request.argv,
            request.env,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, target) for fd, target in targets],
            setsid=True,
            setsigmask=(),
            setsigdef=_RESET_SIGNALS,
        )
    finally:
        os.chdir("/")  # an idle warden must not keep a file system busy


def _supervise(channel: socket.socket, tree: ProcessTree, wakeup: Wakeup, graces_s: tuple[float, float, float]) -> bool:
    stray_grace_s, term_s, kill_s = graces_s
    deadline_s: float | None = None
    may_run = True
    tree.reap()
    while may_run and not tree.is_gone:
        if tree.exit_status is not None and deadline_s is None:
            _report(channel, f"ended {tree.exit_status}")
            deadline_s = time.monotonic() + stray_grace_s
        remaining_s = None if deadline_s is None else deadline_s - time.monotonic()
        may_run = (remaining_s is None or remaining_s > 0) and not wakeup.wait(channel.fileno(), remaining_s)
        tree.reap()
    if not tree.is_gone:
        tree.end(wakeup, term_s, kill_s, _second_request_fd(channel))
    reports = [f"ended {tree.exit_status}"] if deadline_s is None and tree.exit_status is not None else []
    _report(channel, *reports, "done" if tree.is_gone else "survivors")
    return tree.is_gone


def _second_request_fd(channel: socket.socket) -> int | None:
    """Consumes the byte that asked for the end, if any.

    Returns the descriptor on which a second byte can arrive, or None if the adapter has closed the channel.
    """
    try:
        byte = channel.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return channel.fileno()  # no byte: the program left processes behind
    except OSError:
        return None
    return channel.fileno() if byte else None


def _report(channel: socket.socket, *lines: str) -> None:
    # End the tree even if the adapter has stopped reading reports.
    with suppress(OSError):
        channel.sendall("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))


def main() -> None:
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=int(sys.argv[2]))
    control.set_inheritable(False)
    run_keeper(control)
