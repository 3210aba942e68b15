"""The result of a run: its history, and what the run directory adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from forum_runner.errors import ExitCode
from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.layout import BODIES, WAVE_PLAN
from forum_runner.ledger.read_entry import body_reference, part, text
from forum_runner.report.amounts import clip
from forum_runner.report.failures import TaskFailure, read_failures
from forum_runner.report.run_commands import question_of, run_argument
from forum_runner.report.run_context import RunContext, run_context
from forum_runner.report.task_table import NOT_STARTED


@dataclass(frozen=True, slots=True)
class PendingGate:
    task: str
    question: str
    deadline: str | None = None
    on_deadline: str | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    directory: Path
    history: RunHistory
    exit_code: int
    context: RunContext
    failures: Mapping[str, TaskFailure] = field(default_factory=dict)
    gates: tuple[PendingGate, ...] = ()

    @property
    def run(self) -> str:
        return self.history.run

    @property
    def head(self) -> str:
        return self.history.head

    @property
    def active_ms(self) -> int:
        return self.history.active_us // 1_000

    @property
    def argument(self) -> str:
        return run_argument(self.run, self.directory)

    @property
    def status(self) -> str:
        """The ledger's, unless the run was interrupted before it could record that."""
        is_cut_short = self.exit_code == ExitCode.INTERRUPTED and not self.history.is_sealed
        return "interrupted" if is_cut_short else self.history.status

    @property
    def is_resumable(self) -> bool:
        return self.status in ("paused", "interrupted", "unfinished")

    @property
    def counts(self) -> Counter[str]:
        """The plan's tasks by state."""
        missing = sum(name not in self.history.tasks for name in self.context.tasks)
        return self.history.states + Counter({NOT_STARTED: missing})


def read_result(directory: Path, history: RunHistory, exit_code: int) -> RunResult:
    context = _read_context(history.run, directory / WAVE_PLAN)
    gates = tuple(_open_gate(directory, task, context) for task in history.open_tasks.values() if task.is_waiting)
    return RunResult(directory, history, exit_code, context, read_failures(directory, history), gates)


def _read_context(run: str, path: Path) -> RunContext:
    try:
        return run_context(run, orjson.loads(path.read_bytes()))
    except (OSError, orjson.JSONDecodeError):
        return RunContext(run)


def _open_gate(directory: Path, task: TaskHistory, context: RunContext) -> PendingGate:
    planned = context.planned(task.id)
    gate = planned.gate if planned is not None else None
    opened = task.gate.opened if task.gate is not None else None
    deadline = text(opened.data, "deadline") if opened is not None else None
    displayed = part(opened.bodies, "displayed") if opened is not None else {}
    question = _displayed_question(directory / BODIES, displayed) or (question_of(gate, context.run) if gate else "")
    return PendingGate(task.id, question, deadline, gate.on_deadline if gate and deadline else None)


def _displayed_question(path: Path, body: Mapping[str, Any]) -> str | None:
    """The question with the values that the run filled in; None if it is sensitive."""
    if text(body, "digest") is None or "salted" in body:
        return None
    try:
        with path.open("rb") as stream:
            displayed = orjson.loads(BodyReader(stream).read(body_reference(body)) or b"{}")
    except (OSError, ValueError):
        return None
    question = text(displayed, "question") if isinstance(displayed, dict) else None
    return None if question is None else clip(" ".join(question.split()))
