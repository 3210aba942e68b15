"""The forecast of a run, and its rendering as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forum_runner.finding import visible
from forum_runner.manifest.units import counted
from forum_runner.report import join_lines
from forum_runner.report.amounts import money
from forum_runner.report.budget_text import amount_text
from forum_runner.report.table import table

_FATES = {"run": "runs", "reuse": "reused", "later": "after others", "skip": "skipped"}
_AMOUNTS = ("calls", "tokens", "input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms")
_MAX_TASKS = 200


@dataclass(frozen=True, slots=True)
class TaskForecast:
    """The forecast of a task: whether it runs, and the maximum that it can use.

    `fate` is `run`, `reuse`, `skip`, or `later` if it depends on other tasks or on a gate. `reason` explains the fate,
    if there is more to say.
    """

    task: str
    wave: int
    agent: str
    adapter: str
    fate: str
    reason: str | None
    calls: int
    input_tokens: int
    output_tokens: int
    micro_usd: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of a run: its tasks, and the maximum that it can use.

    `plan` is the digest of the wave plan, `most` the maximum usage of all tasks, `limits` the policy's budget, and
    `not_set` the required environment variables that are not set.
    """

    workflow: str
    plan: str
    waves: int
    tasks: tuple[TaskForecast, ...]
    most: Mapping[str, int]
    limits: Mapping[str, int]
    not_set: tuple[str, ...] = ()


def render_forecast(forecast: Forecast) -> str:
    rows: list[tuple[str, ...]] = [("wave", "task", "agent", "adapter", "", "calls", "tokens", "cost")]
    rows += [_row(task) for task in forecast.tasks[:_MAX_TASKS]]
    size = f"{counted(len(forecast.tasks), 'task')} in {counted(forecast.waves, 'wave')}"
    lines = [f"{visible(forecast.workflow)}: {size}; dry run", ""]
    lines += table(rows, right={5, 6, 7})
    if len(forecast.tasks) > _MAX_TASKS:
        lines.append(f"... and {len(forecast.tasks) - _MAX_TASKS:,} more")
    reasons = [f"  {task.task}: {task.reason}" for task in forecast.tasks[:_MAX_TASKS] if task.reason]
    if reasons:
        lines += ["", *reasons]
    most = {name: amount for name, amount in forecast.most.items() if amount or name == "calls"}
    lines += ["", f"at most   {_amounts(most)}", f"budget    {_amounts(forecast.limits) or 'none'}"]
    if forecast.not_set:
        lines.append(f"not set   {', '.join(forecast.not_set)} (required to start a run)")
    lines.append(f"digest    {forecast.plan}")
    return join_lines(lines)


def _row(task: TaskForecast) -> tuple[str, ...]:
    tokens = task.input_tokens + task.output_tokens
    is_counted = task.fate != "reuse"
    return (
        str(task.wave + 1),
        visible(task.task),
        visible(task.agent),
        visible(task.adapter),
        _FATES[task.fate],
        f"{task.calls:,}" if is_counted else "",
        f"{tokens:,}" if tokens and is_counted else "",
        money(task.micro_usd) if task.micro_usd and is_counted else "",
    )


def _amounts(amounts: Mapping[str, int]) -> str:
    return ", ".join(amount_text(name, amounts[name]) for name in _AMOUNTS if name in amounts)
