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
    """Call a program and wait until it ends. By default, it gets this process's directory and environment."""
    argv = [str(argument) for argument in arguments]
    request = {"arguments": argv, "cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
    return _warm_process(program).call(request)


def as_text(output: bytes) -> str:
    """Decode output and convert line endings to `\\n`, as reading a text file does."""
    return io.StringIO(output.decode(), newline=None).getvalue()


class _WarmProcess:
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
            output = {name: f"{folder}/{name}" for name in ("out", "err")}
            stdin, stdout = self._process.stdin, self._process.stdout
            assert stdin is not None
            assert stdout is not None
            print(json.dumps({**request, **output}), file=stdin, flush=True)
            code = int(stdout.readline())
            out, err = (Path(path).read_bytes() for path in output.values())
        return subprocess.CompletedProcess([], code, out, err)

    def stop(self) -> None:
        self._process.communicate()


@cache
def _warm_process(program: str) -> _WarmProcess:
    process = _WarmProcess(program)
    atexit.register(process.stop)
    return process
