"""The tasks of a run as rows of a table, and lines about their budgets and truncated inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.history.usage import UsageTotals
from forum_runner.manifest.units import counted
from forum_runner.report.amounts import clip, duration, money
from forum_runner.report.entry_text import agent_text, entry_text

HEADING = ("task", "state", "reason", "attempts", "agent", "time", "tokens", "cost")
RIGHT_ALIGNED = (3, 5, 6, 7)
NOT_STARTED = "not started"
SEVERITY = (
    "failed",
    "stopped",
    "refused",
    "cancelled",
    "running",
    "waiting",
    "started",
    "tolerated",
    "skipped",
    "passed",
)
TRUNCATED_TITLE = "truncated by max_bytes"


def sorted_by_severity(tasks: Iterable[TaskHistory]) -> list[TaskHistory]:
    rank = {state: number for number, state in enumerate(SEVERITY)}
    return sorted(tasks, key=lambda task: rank.get(task.state, 0))


def task_row(task: TaskHistory, *, is_detailed: bool = False) -> tuple[str, ...]:
    """The cells of a task. A detailed row also has the adapter, the tier, and the run of a reused result."""
    agent = agent_text(task.agent, task.adapter, task.tier) if is_detailed else task.agent or ""
    if task.reused_from is not None:
        agent = f"reused from {task.reused_from}" if is_detailed else "reused"
    elif task.instances is not None:
        agent = counted(task.instances, "instance")
    words = (clip(task.id, 80), clip(task.state, 20), clip(task.reason or "", 20), number_cell(task.attempts))
    return (*words, clip(agent, 60), *usage_cells(task.usage))


def usage_cells(usage: UsageTotals) -> tuple[str, str, str]:
    """Time, tokens and cost; a cell is empty if its number is 0."""
    return (
        duration(usage.wall_ms) if usage.wall_ms else "",
        number_cell(usage.tokens),
        money(usage.micro_usd) if usage.micro_usd else "",
    )


def number_cell(number: int) -> str:
    return f"{number:,}" if number else ""


def select_tasks(tasks: Sequence[TaskHistory], max_passed: int, max_others: int) -> tuple[list[TaskHistory], list[str]]:
    """The tasks to list, in their original order, and a note for each state with omitted tasks."""
    ranked = sorted_by_severity(tasks)
    passed = [task for task in ranked if task.state == "passed"]
    others = [task for task in ranked if task.state != "passed"]
    selected = {task.id for task in [*passed[:max_passed], *others[:max_others]]}
    omitted = Counter(task.state for task in [*others[max_others:], *passed[max_passed:]])
    return [task for task in tasks if task.id in selected], [
        f"and {number:,} more {clip(state)}" for state, number in omitted.items()
    ]


def budget_lines(history: RunHistory) -> list[str]:
    """One line per call that a budget stopped or that used more than it reserved."""
    return [
        entry_text(entry) if entry.task is None else f"{clip(entry.task, 80)}: {entry_text(entry)}"
        for entry in history.budget
    ]


def truncated_lines(history: RunHistory) -> list[str]:
    """One line per truncated input: `draft: the first 2,000 of 48,112 bytes of commits`."""
    return [
        f"{clip(task.id, 80)}: the first {value.kept_bytes:,} of {value.total_bytes:,} bytes of {clip(value.name, 80)}"
        for task in history.tasks.values()
        for value in task.truncated
    ]
