"""How often what passed, over several runs of one plan: what `--repeat` prints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from forum_runner.ledger.summary import Summary
from forum_runner.report import counted, joined
from forum_runner.report.amounts import money, shown, span
from forum_runner.report.table import table

_NOT_BEGUN = "not begun"
_MAX_ROWS = 200


@dataclass(frozen=True, slots=True)
class Spread:
    """Numbers of several runs, of those that have one."""

    numbers: tuple[int, ...]

    @property
    def mean(self) -> float:
        return sum(self.numbers) / len(self.numbers) if self.numbers else 0.0

    @property
    def least(self) -> int:
        return min(self.numbers, default=0)

    @property
    def most(self) -> int:
        return max(self.numbers, default=0)

    def __str__(self) -> str:
        """`1.4 (1 to 3)`; one number where all are the same, and nothing where all are 0."""
        if self.least == self.most:
            return f"{self.most:,}" if self.most else ""
        return f"{self.mean:,.1f}".removesuffix(".0") + f" ({self.least:,} to {self.most:,})"


@dataclass(frozen=True, slots=True)
class Rate:
    """Of a task, or of the run as a whole. `states` counts the runs by how it ended there."""

    name: str
    runs: int
    states: Counter[str]
    attempts: Spread
    tokens: Spread

    @property
    def passed(self) -> int:
        return self.states["passed"]

    @property
    def percent(self) -> float:
        """Rounded down to a tenth: 100 means every run."""
        return self.passed * 1000 // self.runs / 10 if self.runs else 0.0

    @property
    def others(self) -> str:
        return ", ".join(f"{number:,} {shown(state)}" for state, number in _but_passed(self.states).items())

    def __str__(self) -> str:
        return f"{self.passed:,} of {self.runs:,} ({self.percent:g}%)"


def render_pass_rates(summaries: Sequence[Summary], *, color: bool = False) -> str:
    whole, tasks = _rate_of_runs(summaries), _rates_of_tasks(summaries)
    lines = [f"{counted(whole.runs, 'run')}: {whole} passed{f'; {whole.others}' if whole.others else ''}", ""]
    # Those that failed most often come first where there is not room for all, and otherwise stand in their order.
    kept = {rate.name for rate in sorted(tasks, key=lambda rate: rate.passed)[:_MAX_ROWS]}
    rows = [_row(rate) for rate in tasks if rate.name in kept]
    lines += table([("task", "passed", "otherwise", "attempts", "tokens"), *rows], color=color)
    if len(tasks) > len(kept):
        lines.append(f"and {len(tasks) - len(kept):,} more, which passed as often or more often")
    usages = [summary.totals for summary in summaries]
    lines.append("")
    if any(usage.tokens for usage in usages):
        lines.append(f"tokens    {whole.tokens} a run")
    lines.append(f"spent     {money(sum(usage.micro_usd for usage in usages))} in all")
    lines.append(f"work      {span(sum(usage.wall_ms for usage in usages))} in all")
    return joined(lines)


def render_pass_rates_json(summaries: Sequence[Summary]) -> str:
    """Everything beyond ASCII is escaped: it may end up on a terminal."""
    document = {
        "apiVersion": "forum/v1",
        "kind": "PassRates",
        "runs": [summary.first.run if summary.first else None for summary in summaries],
        "whole": _form(_rate_of_runs(summaries)),
        "tasks": [{"task": rate.name, **_form(rate)} for rate in _rates_of_tasks(summaries)],
    }
    return json.dumps(document, indent=2) + "\n"


def _rate_of_runs(summaries: Sequence[Summary]) -> Rate:
    attempts = [sum(story.attempts for story in summary.tasks.values()) for summary in summaries]
    tokens = [summary.totals.tokens for summary in summaries]
    states = Counter(summary.status for summary in summaries)
    return Rate("run", len(summaries), states, Spread(tuple(attempts)), Spread(tuple(tokens)))


def _rates_of_tasks(summaries: Sequence[Summary]) -> list[Rate]:
    return [_rate_of_task(name, summaries) for name in {name: None for run in summaries for name in run.tasks}]


def _rate_of_task(name: str, summaries: Sequence[Summary]) -> Rate:
    stories = [summary.tasks[name] for summary in summaries if name in summary.tasks]
    states = Counter(story.state for story in stories)
    if missing := len(summaries) - len(stories):
        states[_NOT_BEGUN] = missing
    attempts, tokens = (story.attempts for story in stories), (story.usage.tokens for story in stories)
    return Rate(name, len(summaries), states, Spread(tuple(attempts)), Spread(tuple(tokens)))


def _but_passed(states: Counter[str]) -> dict[str, int]:
    return {state: number for state, number in sorted(states.items()) if state != "passed"}


def _row(rate: Rate) -> tuple[str, ...]:
    return shown(rate.name, 80), str(rate), rate.others, str(rate.attempts), str(rate.tokens)


def _form(rate: Rate) -> dict[str, Any]:
    return {
        "passed": rate.passed,
        "of": rate.runs,
        "percent": rate.percent,
        "otherwise": _but_passed(rate.states),
        "attempts": _spread_form(rate.attempts),
        "tokens": _spread_form(rate.tokens),
    }


def _spread_form(spread: Spread) -> dict[str, float]:
    return {"mean": round(spread.mean, 3), "min": spread.least, "max": spread.most}
