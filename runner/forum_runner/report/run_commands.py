"""The commands to run next, quoted for a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

from forum_runner.finding import visible
from forum_runner.wave_plan.planned_task import GateRule, Placeholder
from forum_runner.workspace import RUNS


def run_argument(run: str, directory: Path) -> str:
    """The RUN argument for this run: its id if it is in the default folder, otherwise its directory."""
    return run if directory == RUNS / run else str(directory)


def command_line(*words: str) -> str:
    return visible(shlex.join(["forum", *words]))


def verify_line(directory: Path, head: str) -> str:
    return command_line("verify", str(directory), "--expect-head", head)


def gate_lines(run: str, task: str) -> tuple[str, str]:
    """The commands to approve and to reject; `run` is the argument that names the run."""
    return command_line("gate", "approve", run, task), command_line("gate", "reject", run, task)


def question_of(gate: GateRule, run: str) -> str:
    """A gate's question in one line, with the run id filled in. Data and secrets appear as references."""
    question = "".join(part if isinstance(part, str) else _reference(part, run) for part in gate.question)
    return visible(" ".join(question.split()))


def _reference(part: Placeholder, run: str) -> str:
    if part.run is not None:
        return run
    return f"${{{{ needs.{part.need} }}}}" if part.need is not None else f"${{{{ inputs.{part.secret} }}}}"
