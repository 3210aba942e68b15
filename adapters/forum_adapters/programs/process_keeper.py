"""The client of the keeper process (process_warden.py): starts the keeper on first use, and again if it has died."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path

from forum_adapters.programs.process_warden import LaunchRequest

_PACKAGE_FOLDER = str(Path(__file__).parents[2])
_START_CODE = (
    "import sys; sys.path.append(sys.argv[1]); from forum_adapters.programs.process_warden import main; main()"
)
# The interpreter may need these to find its libraries. The keeper gets nothing else, and no secrets.
_LOADER_PREFIXES = ("LD_", "DYLD_")
# The time that a warden has to receive a request.
_START_PATIENCE_S = 5.0


class Keeper:
    """Provides channels to wardens. Its methods raise OSError if no process can be started."""

    def __init__(self) -> None:
        self._idle: list[socket.socket] = []
        self._process: _KeeperProcess | None = None
        self._owner = os.getpid()
        # Prevents warnings about open sockets if the adapter is never closed.
        weakref.finalize(self, _close_all, self._idle)

    def hire(self) -> socket.socket:
        """A channel to an idle warden. The caller must `dismiss` or close the channel."""
        self._abandon_after_fork()
        while self._idle:
            channel = self._idle.pop()
            if is_quiet(channel):
                return channel
            channel.close()
        if self._process is None or not self._process.is_alive():
            self._process = _KeeperProcess()
        return self._process.new_warden()

    def start(self, request: LaunchRequest, fds: Sequence[int]) -> socket.socket:
        """Starts a program with these descriptors as stdout, stderr and stdin.

        Returns the channel to its warden. Closing the channel ends the program and its process tree.
        """
        channel = self.hire()
        try:
            channel.settimeout(_START_PATIENCE_S)
            packed = request.pack()
            sent = socket.send_fds(channel, [packed], fds)
            channel.sendall(packed[sent:])
        except BaseException:
            channel.close()
            raise
        return channel

    def dismiss(self, channel: socket.socket) -> None:
        self._idle.append(channel)

    async def close(self) -> None:
        _close_all(self._idle)
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    def _abandon_after_fork(self) -> None:
        """After a fork, abandons the wardens of the parent, because both processes would read their replies."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._process = None
            _close_all(self._idle)


class _KeeperProcess:
    """The keeper process. It exits when this process closes the control socket or dies."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = self._start(theirs.fileno())
            except BaseException:
                self._control.close()
                raise
        self._finalizer = weakref.finalize(self, _abandon, self._control, self._process, os.getpid())

    @staticmethod
    def _start(control: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-I", "-S", "-c", _START_CODE, _PACKAGE_FOLDER, str(control)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name.startswith(_LOADER_PREFIXES)},
            pass_fds=[control],
            start_new_session=True,  # the adapter handles interrupts from the terminal
        )

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def new_warden(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"\0"], [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        return ours

    async def close(self) -> None:
        # The keeper waits for its wardens, which wait for the processes that they end.
        self._control.close()
        await asyncio.to_thread(self._process.wait)
        self._finalizer.detach()


def is_quiet(channel: socket.socket) -> bool:
    """Whether the other side is alive and has sent nothing. The socket must be non-blocking."""
    try:
        channel.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _close_all(channels: list[socket.socket]) -> None:
    while channels:
        channels.pop().close()


def _abandon(control: socket.socket, process: subprocess.Popen[bytes], owner: int) -> None:
    control.close()
    # A forked process has a copy of this object and must not end the keeper; its wait returns at once.
    if os.getpid() == owner:
        process.kill()
    process.wait()
