"""Run work in a process under strace, which fails one system call or kills the process at that call."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.process import Acknowledge, Process, Work

# System calls and the name that tests use for them: the call for `rename` is `renameat` on some machines.
SPELLINGS = {
    "openat": "openat",
    "mkdir": "mkdir",
    "mkdirat": "mkdir",
    "flock": "flock",
    "pwrite64": "pwrite64",
    "write": "write",
    "fsync": "fsync",
    "fdatasync": "fdatasync",
    "ftruncate": "ftruncate",
    "chmod": "chmod",
    "fchmodat": "chmod",
    "rename": "rename",
    "renameat": "rename",
    "renameat2": "rename",
    "unlink": "unlink",
    "unlinkat": "unlink",
}
CALLS = tuple(dict.fromkeys(SPELLINGS.values()))
_CALL = re.compile(r"([a-z0-9_]+)\(")
_SYNC = re.compile(r"^f(?:data)?sync\([0-9]+<(.+)>\) += 0$", re.MULTILINE)
_PR_SET_PTRACER = 0x59616D61
_ANY_PROCESS = ctypes.c_ulong(-1)


@dataclass(frozen=True, slots=True)
class Ending:
    """The exit code of a process, negative for a signal, and its acknowledged entries."""

    code: int
    acknowledged: list[tuple[int, int]]


def require_strace() -> None:
    """Skip if strace is not installed, except in CI: these tests must run there."""
    if shutil.which("strace") is None:
        if "CI" in os.environ:
            pytest.fail("strace is not installed: `apt-get install strace`")
        pytest.skip("strace is not installed: `apt-get install strace`")


def system_calls(work: Work, directory: Path, log: Path) -> Iterator[tuple[str, int]]:
    """Yield the system calls that refer to a directory, each with its number in the sequence of calls of that name."""
    ending = run_under_strace(work, "-y", "-o", str(log), "-e", f"trace={','.join(f'?{name}' for name in SPELLINGS)}")
    assert ending.code == 0
    counts: Counter[str] = Counter()
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        counts[match[1]] += 1
        if str(directory) in line:
            yield match[1], counts[match[1]]


def synced_paths(work: Work, log: Path) -> set[str]:
    """Return the files and directories that the work syncs."""
    assert run_under_strace(work, "-y", "-o", str(log), "-e", "trace=fsync,fdatasync").code == 0
    return set(_SYNC.findall(log.read_text(encoding="utf-8")))


def run_with_fault(work: Work, call: str, number: int, fault: str) -> Ending:
    """Run the work with a fault at the call with this number.

    `fault` is in strace's syntax, `error=EIO` or `signal=KILL`. With a final plus, later calls fail as well.
    """
    when = f"{number}+" if fault.endswith("+") else str(number)
    inject = f"inject={call}:{fault.removesuffix('+')}:when={when}"
    return run_under_strace(work, "-o", os.devnull, "-e", f"trace={call}", "-e", inject)


def run_under_strace(work: Work, *options: str) -> Ending:
    """Run the work in a process that first waits until strace has attached, so that counting starts with the work."""
    start_reader, start_writer = os.pipe()

    def wait_for_strace(acknowledge: Acknowledge) -> None:
        os.close(start_writer)
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANY_PROCESS, 0, 0, 0)
        os.read(start_reader, 1)
        work(acknowledge)

    process = Process(wait_for_strace)
    os.close(start_reader)
    command = ["strace", *options, "-p", str(process.pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        first_line = strace.stderr.readline()
        os.close(start_writer)
        acknowledged, code = process.wait()
    assert "attached" in first_line, f"strace cannot attach to the process: {first_line}"
    return Ending(code, acknowledged)
