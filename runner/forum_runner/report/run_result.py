"""The result of a run: its history, and facts from the run directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from forum_runner.errors import ExitCode
from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.layout import WAVE_PLAN
from forum_runner.report.failures import TaskFailure, read_failures
from forum_runner.report.next_commands import run_argument
from forum_runner.report.pending_gate import PendingGate, read_pending_gates
from forum_runner.report.run_context import RunContext
from forum_runner.report.task_table import NOT_STARTED
from forum_runner.wave_plan.wave_plan_reader import decode_wave_plan


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run. `failures` has the reasons of failed tasks, by task id."""

    directory: Path
    history: RunHistory
    exit_code: int
    context: RunContext
    failures: Mapping[str, TaskFailure] = field(default_factory=dict)
    gates: tuple[PendingGate, ...] = ()

    @property
    def run_argument(self) -> str:
        """The RUN argument of commands for this run."""
        return run_argument(self.history.run, self.directory)

    @property
    def status(self) -> str:
        """The status in the ledger, or `interrupted` if the run could not record its interruption."""
        is_interrupted = self.exit_code == ExitCode.INTERRUPTED and not self.history.is_sealed
        return "interrupted" if is_interrupted else self.history.status

    @property
    def is_resumable(self) -> bool:
        return self.status in ("paused", "interrupted", "unfinished")

    @property
    def counts(self) -> Counter[str]:
        """How many tasks are in each state, including tasks of the plan that have not started."""
        missing = sum(name not in self.history.tasks for name in self.context.tasks)
        return self.history.states + Counter({NOT_STARTED: missing})


def read_result(directory: Path, history: RunHistory, exit_code: int) -> RunResult:
    context = _read_context(history.run, directory / WAVE_PLAN)
    gates = tuple(read_pending_gates(directory, history, context))
    return RunResult(directory, history, exit_code, context, read_failures(directory, history), gates)


def _read_context(run: str, path: Path) -> RunContext:
    """The context of a run, without its plan if the file is missing or damaged."""
    try:
        return RunContext(run, decode_wave_plan(path.read_bytes()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return RunContext(run)
