"""Call `forum` and `forum-conformance` without starting an interpreter for each call (warm_program.py).

A call has an empty standard input. Tests of input, signals or a terminal start their own process.
"""

import atexit
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path


def call(
    program: str, *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Call a program to its end, by default in this process's folder and environment."""
    words = [str(argument) for argument in arguments]
    request = {"arguments": words, "cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
    return _warm(program).call(request)


def as_text(printed: bytes) -> str:
    """Decode with universal newlines, as for a text file."""
    return io.StringIO(printed.decode(), newline=None).getvalue()


class _Warm:
    """The process that calls are forked from."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm_program.py")), program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, request: Mapping[str, object]) -> subprocess.CompletedProcess[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            printed = {name: f"{folder}/{name}" for name in ("out", "err")}
            stdin, stdout = self._process.stdin, self._process.stdout
            assert stdin is not None
            assert stdout is not None
            print(json.dumps({**request, **printed}), file=stdin, flush=True)
            code = int(stdout.readline())
            out, err = (Path(path).read_bytes() for path in printed.values())
        return subprocess.CompletedProcess([], code, out, err)

    def end(self) -> None:
        self._process.communicate()


@cache
def _warm(program: str) -> _Warm:
    started = _Warm(program)
    atexit.register(started.end)
    return started
