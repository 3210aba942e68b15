"""The commands to run next, quoted for a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

from forum_runner.finding import visible
from forum_runner.workspace import RUNS


def run_argument(run: str, directory: Path) -> str:
    """The RUN argument for this run: its id if it is in the default folder, otherwise its directory."""
    return run if directory == RUNS / run else str(directory)


def command_line(*words: str) -> str:
    return visible(shlex.join(["forum", *words]))


def verify_command(directory: Path, head: str) -> str:
    return command_line("verify", str(directory), "--expect-head", head)


def gate_commands(run: str, task: str) -> tuple[str, str]:
    """The commands to approve and to reject; `run` is the argument that names the run."""
    return command_line("gate", "approve", run, task), command_line("gate", "reject", run, task)
