"""The forecast of a run as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Protocol

from forum_runner.finding import visible
from forum_runner.report import counted
from forum_runner.report.amounts import money
from forum_runner.report.budget_text import quantity
from forum_runner.report.table import table

_FATES = {"run": "runs", "reuse": "reused", "later": "after others", "skip": "skipped"}
_AMOUNTS = ("calls", "tokens", "input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms")
_SHOWN_TASKS = 200


class ForecastRow(Protocol):
    @property
    def task(self) -> str: ...
    @property
    def wave(self) -> int: ...
    @property
    def agent(self) -> str: ...
    @property
    def adapter(self) -> str: ...
    @property
    def fate(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def calls(self) -> int: ...
    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def micro_usd(self) -> int: ...


class ForecastDocument(Protocol):
    @property
    def workflow(self) -> str: ...
    @property
    def plan(self) -> str: ...
    @property
    def waves(self) -> int: ...
    @property
    def tasks(self) -> tuple[ForecastRow, ...]: ...
    @property
    def most(self) -> Mapping[str, int]: ...
    @property
    def limits(self) -> Mapping[str, int]: ...
    @property
    def not_set(self) -> tuple[str, ...]: ...


def render_forecast(found: ForecastDocument) -> str:
    rows: list[tuple[str, ...]] = [("wave", "task", "agent", "adapter", "", "calls", "tokens", "cost")]
    rows += [_row(task) for task in found.tasks[:_SHOWN_TASKS]]
    size = f"{counted(len(found.tasks), 'task')} in {counted(found.waves, 'wave')}"
    lines = [f"{visible(found.workflow)}: {size}; dry run", ""]
    lines += table(rows, right={5, 6, 7})
    if len(found.tasks) > _SHOWN_TASKS:
        lines.append(f"... and {len(found.tasks) - _SHOWN_TASKS:,} more")
    reasons = [f"  {task.task}: {task.reason}" for task in found.tasks[:_SHOWN_TASKS] if task.reason]
    if reasons:
        lines += ["", *reasons]
    most = {name: amount for name, amount in found.most.items() if amount or name == "calls"}
    lines += ["", f"at most   {_amounts(most)}", f"budget    {_amounts(found.limits) or 'none'}"]
    if found.not_set:
        lines.append(f"not set   {', '.join(found.not_set)} (required to start a run)")
    lines.append(f"digest    {found.plan}")
    return "\n".join(lines) + "\n"


def _row(task: ForecastRow) -> tuple[str, ...]:
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
    return ", ".join(quantity(name, amounts[name]) for name in _AMOUNTS if name in amounts)


def render_forecast_json(found: ForecastDocument) -> str:
    if not is_dataclass(found) or isinstance(found, type):
        raise TypeError("a forecast is a dataclass")
    document: dict[str, Any] = asdict(found)
    return json.dumps(document, indent=2, default=dict) + "\n"
