"""The adapter's side of its keeper (process_warden.py): started when it is first needed, and again if it dies."""

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
_START = "import sys; sys.path.append(sys.argv[1]); from forum_adapters.programs.process_warden import main; main()"
# What the interpreter may need to find its libraries. The keeper has no use for anything else, secrets least of all.
_LOADER_PREFIXES = ("LD_", "DYLD_")
# How long a warden may take to receive a request.
_START_PATIENCE_S = 5.0


class Keeper:
    """Hands out channels to wardens. Raises OSError when there is no way to start a process."""

    def __init__(self) -> None:
        self._idle: list[socket.socket] = []
        self._process: _KeeperProcess | None = None
        self._owner = os.getpid()
        # An adapter that nobody closed must not warn about sockets when it is collected.
        weakref.finalize(self, _close_all, self._idle)

    def hire(self) -> socket.socket:
        """A channel to a warden that has nothing to do. It is the caller's, until it is dismissed or closed."""
        self._leave_to_parent()
        while self._idle:
            channel = self._idle.pop()
            if _is_open(channel):
                return channel
            channel.close()
        if self._process is None or not self._process.is_alive():
            self._process = _KeeperProcess()
        return self._process.new_warden()

    def start(self, request: LaunchRequest, files: Sequence[int]) -> socket.socket:
        """Starts a program with these files as stdout, stderr and stdin. Closing the channel ends it and its tree."""
        channel = self.hire()
        try:
            channel.settimeout(_START_PATIENCE_S)
            packed = request.pack()
            sent = socket.send_fds(channel, [packed], files)
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

    def _leave_to_parent(self) -> None:
        """A fork of the adapter's process must not talk to the wardens of its parent: both would hear the answers."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._process = None
            _close_all(self._idle)


class _KeeperProcess:
    """The keeper itself. It ends when this side closes its socket, so also when this side dies."""

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
        return subprocess.Popen(  # noqa: S603 - our own interpreter, with a text of our own
            [sys.executable, "-I", "-S", "-c", _START, _PACKAGE_FOLDER, str(control)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name.startswith(_LOADER_PREFIXES)},
            pass_fds=[control],
            start_new_session=True,  # an interrupt from the terminal is the adapter's business
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
        # It waits for its wardens, and each of them for those whom it has to end.
        self._control.close()
        await asyncio.to_thread(self._process.wait)
        self._finalizer.detach()


def _is_open(channel: socket.socket) -> bool:
    """Whether its warden lives: one without a program says nothing, and one that is dead has said its last."""
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
    # A fork of the adapter's process has a copy of all this, and no right to end it; its wait is over at once.
    if os.getpid() == owner:
        process.kill()
    process.wait()
