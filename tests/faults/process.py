"""A child process that works on a ledger until it is killed, and reports each acknowledged entry."""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import NoReturn

from forum_runner.errors import ForumError

_PAIR = struct.Struct("<QQ")
_PIPE_BYTES = 1 << 20
_READY_TIMEOUT_S = 60
_PR_SET_PDEATHSIG = 1
# The exit codes of the process.
DEFECT = 1
REFUSED = 3

Acknowledge = Callable[[int, int], None]
Work = Callable[[Acknowledge], None]


class Process:
    """A forked process, which starts within a millisecond. It writes the seq and number of each entry to a pipe."""

    def __init__(self, work: Work) -> None:
        self._reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.pid = os.fork()
        if not self.pid:
            os.close(self._reader)
            _run_and_exit(work, writer)
        os.close(writer)

    def wait_until_working(self) -> None:
        """Wait until an entry is acknowledged or the process has ended."""
        select.select([self._reader], [], [], _READY_TIMEOUT_S)

    def kill(self, after_s: float = 0) -> list[tuple[int, int]]:
        """Kill the process and return the acknowledged entries."""
        time.sleep(after_s)
        os.kill(self.pid, signal.SIGKILL)
        acknowledged, code = self.wait()
        assert code == -signal.SIGKILL, "the process ended before it was killed"
        return acknowledged

    def finish(self) -> list[tuple[int, int]]:
        """Wait until the process succeeds. Return the acknowledged entries."""
        acknowledged, code = self.wait()
        assert code == 0
        return acknowledged

    def wait(self) -> tuple[list[tuple[int, int]], int]:
        """Wait until the process ends. Return the acknowledged entries and the exit code, negative for a signal."""
        with os.fdopen(self._reader, "rb") as stream:
            data = stream.read()
        _, status = os.waitpid(self.pid, 0)
        return list(_PAIR.iter_unpack(data)), os.waitstatus_to_exitcode(status)


def _run_and_exit(work: Work, writer: int) -> NoReturn:
    code = DEFECT
    # A test that ends early must not leave the process running.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.excepthook = _exit_on_thread_failure
    try:
        work(lambda seq, number: _write_pair(writer, _PAIR.pack(seq, number)))
        code = 0
    except ForumError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        code = REFUSED
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _exit_on_thread_failure(failure: threading.ExceptHookArgs) -> None:
    """End the process if a thread fails, so that the failure is noticed."""
    traceback.print_exception(failure.exc_type, failure.exc_value, failure.exc_traceback)
    os._exit(DEFECT)


def _write_pair(writer: int, pair: bytes) -> None:
    # Not `write`: the ledger uses it for copies, and strace makes it fail.
    assert os.writev(writer, [pair]) == len(pair)
