"""The tasks of a run as rows of a table. If there is no room for all, the most severe are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.history.usage import UsageTotals
from forum_runner.report import counted
from forum_runner.report.amounts import clip, duration, money
from forum_runner.report.entry_text import performer

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


def by_severity(tasks: Iterable[TaskHistory]) -> list[TaskHistory]:
    rank = {state: number for number, state in enumerate(SEVERITY)}
    return sorted(tasks, key=lambda task: rank.get(task.state, 0))


def task_row(task: TaskHistory, *, is_detailed: bool = False) -> tuple[str, ...]:
    """A detailed row also has the adapter, the tier and the run that a result comes from."""
    agent = performer(task.agent, task.adapter, task.tier) if is_detailed else task.agent or ""
    if task.reused_from is not None:
        agent = f"reused from {task.reused_from}" if is_detailed else "reused"
    elif task.instances is not None:
        agent = counted(task.instances, "instance")
    words = (clip(task.id, 80), clip(task.state, 20), clip(task.reason or "", 20), number_cell(task.attempts))
    return (*words, clip(agent, 60), *usage_cells(task.usage))


def usage_cells(usage: UsageTotals) -> tuple[str, str, str]:
    """Time, tokens and cost; empty where 0."""
    return (
        duration(usage.wall_ms) if usage.wall_ms else "",
        number_cell(usage.tokens),
        money(usage.micro_usd) if usage.micro_usd else "",
    )


def number_cell(number: int) -> str:
    return f"{number:,}" if number else ""


def select_tasks(tasks: Sequence[TaskHistory], max_passed: int, max_others: int) -> tuple[list[TaskHistory], list[str]]:
    """The tasks to list, in their order, and a note for each state that has more."""
    ranked = by_severity(tasks)
    passed = [task for task in ranked if task.state == "passed"]
    others = [task for task in ranked if task.state != "passed"]
    kept = {task.id for task in [*passed[:max_passed], *others[:max_others]]}
    left = Counter(task.state for task in [*others[max_others:], *passed[max_passed:]])
    return [task for task in tasks if task.id in kept], [
        f"and {number:,} more {clip(state)}" for state, number in left.items()
    ]


def truncated_lines(history: RunHistory) -> list[str]:
    """`draft: the first 2,000 of 48,112 bytes of commits`."""
    return [
        f"{clip(task.id, 80)}: the first {value.kept_bytes:,} of {value.all_bytes:,} bytes of {clip(value.name, 80)}"
        for task in history.tasks.values()
        for value in task.truncated
    ]
