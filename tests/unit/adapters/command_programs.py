"""Attempts and small programs for the tests of the command adapter."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from forum_adapters.base import Attempt, Limits, Prompt, Reply, Site
from forum_adapters.command import CommandAdapter

# Prevents a defect from hanging the test run. No result depends on it.
PATIENCE_S = 60
TIMEOUT_MS = PATIENCE_S * 1000

WITH_PATH: Mapping[str, Any] = {"env": ["PATH"]}


def attempt(
    *argv: str,
    workspace: Path | str = ".",
    stdin: bytes = b"",
    timeout_ms: int = TIMEOUT_MS,
    max_output_bytes: int = 1 << 20,
    env: tuple[str, ...] = ("*",),
    is_final: bool = False,
) -> Attempt:
    return Attempt(
        id="attempt",
        run="run",
        task="task",
        number=1,
        adapter="shell",
        settings={},
        prompt=Prompt(argv=argv, stdin=stdin),
        limits=Limits(timeout_ms=timeout_ms, max_output_bytes=max_output_bytes, is_final=is_final),
        site=Site(workspace=str(workspace), env=env),
    )


def reply_to(request: Attempt, settings: Mapping[str, Any] = WITH_PATH) -> Reply:
    async def ask() -> Reply:
        adapter = CommandAdapter("shell", settings)
        try:
            return await asyncio.wait_for(adapter.answer(request), PATIENCE_S)
        finally:
            await adapter.close()

    return asyncio.run(ask())


def reply_while_stdout_is_held(folder: Path, **limits: Any) -> Reply:
    """Return the reply of a program whose stdout is also open in an unrelated process: here, in the test."""
    os.mkfifo(folder / "go")

    async def ask() -> Reply:
        adapter = CommandAdapter("shell", WITH_PATH)
        script = "echo $$ > pid; mv pid ready; read word < go; echo over"
        task = asyncio.create_task(adapter.answer(attempt(*shell(script), workspace=folder, **limits)))
        await wait_for_file(folder / "ready")
        pid = (folder / "ready").read_text().strip()
        with Path(f"/proc/{pid}/fd/1").open("wb"):
            (folder / "go").write_text("word\n")
            reply = await asyncio.wait_for(task, PATIENCE_S)
        await adapter.close()
        return reply

    return asyncio.run(ask())


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code, *arguments)


def shell(script: str, *arguments: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script, "sh", *arguments)


def new_mark() -> str:
    """Return an argument that identifies a process and its forks."""
    return f"mark-{uuid.uuid4().hex}"


def running_processes(mark: str) -> list[int]:
    """Return the ids of the running processes with that argument."""
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if mark.encode() in (folder / "cmdline").read_bytes():
                    pids.append(int(folder.name))
    return pids


async def wait_for_file(path: Path) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < deadline_s, f"{path.name} never appeared"
        await asyncio.sleep(0.01)


def wait_until_ended(mark: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while running_processes(mark):
        assert time.monotonic() < deadline_s, f"still running: {running_processes(mark)}"
        time.sleep(0.01)
