"""The commands that a person types next, about a run: exact, and quoted for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forum_runner.finding import visible
from forum_runner.ledger.read_entry import text
from forum_runner.ledger.source import RUNS


def run_argument(run: str, directory: Path, runs: Path = RUNS) -> str:
    """What a command takes for this run: its id where it lies in the default place, its directory elsewhere."""
    return run if directory.absolute() == runs.absolute() / run else str(directory)


def command_line(*words: str) -> str:
    return visible(shlex.join(["forum", *words]))


def verify_line(directory: Path, head: str) -> str:
    return command_line("verify", str(directory), "--expect-head", head)


def gate_lines(run: str, task: str) -> tuple[str, str]:
    """How to approve and how to reject; `run` is what a command takes for the run."""
    return command_line("gate", "approve", run, task), command_line("gate", "reject", run, task)


def question_of(gate: Mapping[str, Any], run: str) -> str:
    """A gate's question as the plan asks it, in one line; what a run brings into it stands as the plan refers to it."""
    question = gate.get("question")
    if type(question) is not list:
        return ""
    asked = "".join(part if type(part) is str else _reference(part, run) for part in question)
    return visible(" ".join(asked.split()))


def _reference(part: Any, run: str) -> str:
    if type(part) is not dict:
        return ""
    if "run" in part:
        return run
    name = text(part, "need")
    return f"${{{{ needs.{name} }}}}" if name is not None else f"${{{{ inputs.{text(part, 'secret')} }}}}"
