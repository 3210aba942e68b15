"""A run as progress displays see it: its plan, its history so far, and the text of each entry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.ledger.clock import format_time
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.manifest.units import counted
from forum_runner.report.amounts import clip
from forum_runner.report.entry_text import entry_text
from forum_runner.report.next_commands import command_line, run_argument
from forum_runner.report.run_context import RunContext
from forum_runner.wave_plan.wave_plan_reader import WavePlan

STOPPING = "stopping: cancelling open calls; interrupt again to exit at once"
_MAX_NAME = 80
_MAX_PATH = 4096
# Kinds that are not shown: later entries say more about deliveries and checks, and redactions are not part of a run.
_HIDDEN_KINDS = ("edge.delivered", "verdict.asked", "body.redacted")


class RunView:
    def __init__(self, run: str = "", directory: Path = Path(), plan: WavePlan | None = None) -> None:
        self.directory = directory
        self.context = RunContext(run, plan)
        self.history = RunHistory()

    @property
    def run(self) -> str:
        return self.context.run

    def apply(self, seq: int, at_us: int, kind: str, data: Mapping[str, Any]) -> tuple[ReadEntry, TaskHistory | None]:
        """Adds an entry, and returns it with the task that it is about, if any."""
        entry = ReadEntry(self.run, seq, format_time(at_us), "", kind, (), data, {})
        return entry, self.history.apply(entry)

    def lines(self, entry: ReadEntry, task: TaskHistory | None) -> list[str]:
        """The lines that describe an entry; none for entries that tell a person nothing new."""
        kind, name = entry.kind, entry.task
        is_success = kind == "task.finished" and entry.data.get("status") == "ok"
        if kind in _HIDDEN_KINDS or kind.startswith("x-") or is_success:
            return []
        sentence = entry_text(entry, task, self.context)
        lines = [f"{clip(name, _MAX_NAME)}: {sentence}" if name is not None else sentence]
        return [*lines, f"  to decide: {self._gate_command()}"] if kind == "gate.opened" else lines

    def activity(self, task: TaskHistory) -> str:
        """The text of the latest entry of a task."""
        return entry_text(task.latest, task, self.context) if task.latest is not None else ""

    def opening_lines(self) -> list[str]:
        size = f"{counted(len(self.context.tasks), 'task')} in {counted(len(self.context.waves), 'wave')}"
        return [f"run {clip(self.run)} in {clip(str(self.directory), _MAX_PATH)}", f"{clip(self.context.name)}: {size}"]

    def _gate_command(self) -> str:
        return command_line("gate", "list", run_argument(self.run, self.directory))
