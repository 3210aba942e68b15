"""How often what passed, over several runs of one plan: what `--repeat` prints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from forum_runner.report import counted, joined
from forum_runner.report.amounts import money, shown, span
from forum_runner.report.run_commands import command_line, verify_line
from forum_runner.report.run_result import RunResult
from forum_runner.report.table import table

HEADING = ("task", "passed", "otherwise", "attempts", "tokens")
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


@dataclass(frozen=True, slots=True)
class PassRates:
    """Of runs of one plan, in their order."""

    runs: tuple[RunResult, ...]
    whole: Rate
    tasks: tuple[Rate, ...]

    @property
    def headline(self) -> str:
        """`3 runs: 2 of 3 (66.6%) passed; 1 failed`."""
        others = f"; {self.whole.others}" if self.whole.others else ""
        return f"{counted(self.whole.runs, 'run')}: {self.whole} passed{others}"

    @property
    def spent(self) -> list[tuple[str, str]]:
        usages = [run.summary.totals for run in self.runs]
        words = [("tokens", f"{self.whole.tokens} a run")] if any(usage.tokens for usage in usages) else []
        words.append(("spent", f"{money(sum(usage.micro_usd for usage in usages))} in all"))
        return [*words, ("work", f"{span(sum(usage.wall_ms for usage in usages))} in all")]

    def rows(self) -> tuple[list[tuple[str, ...]], str | None]:
        """Of those tasks that passed least often, in their order, and how many are left out."""
        kept = {rate.name for rate in sorted(self.tasks, key=lambda rate: rate.passed)[:_MAX_ROWS]}
        left = len(self.tasks) - len(kept)
        note = f"and {left:,} more, which passed as often or more often" if left else None
        return [_row(rate) for rate in self.tasks if rate.name in kept], note


def pass_rates_of(runs: Sequence[RunResult]) -> PassRates:
    return PassRates(tuple(runs), _rate_of_runs(runs), tuple(_rates_of_tasks(runs)))


def next_commands(runs: Sequence[RunResult]) -> list[tuple[str, str]]:
    """What to type next, under its name: how each run is verified, and how one that did not end goes on."""
    lines = [("verify", verify_line(run.directory, run.head)) for run in runs]
    return lines + [("resume", command_line("resume", run.argument)) for run in runs if run.can_go_on]


def render_pass_rates(rates: PassRates, *, color: bool = False) -> str:
    rows, note = rates.rows()
    lines = [rates.headline, "", *table([HEADING, *rows], color=color)]
    lines += [note] if note else []
    lines.append("")
    lines += (f"{name:<8}  {words}" for name, words in [*rates.spent, *next_commands(rates.runs)])
    return joined(lines)


def render_pass_rates_json(rates: PassRates) -> str:
    """Everything beyond ASCII is escaped: it may end up on a terminal."""
    document = {
        "apiVersion": "forum/v1",
        "kind": "PassRates",
        "runs": [_run_form(run) for run in rates.runs],
        "whole": _form(rates.whole),
        "tasks": [{"task": rate.name, **_form(rate)} for rate in rates.tasks],
    }
    return json.dumps(document, indent=2) + "\n"


def _run_form(run: RunResult) -> dict[str, Any]:
    return {
        "run": run.run,
        "status": run.status,
        "exit_code": run.exit_code,
        "directory": str(run.directory),
        "head": run.head,
        "verify": verify_line(run.directory, run.head),
    }


def _rate_of_runs(runs: Sequence[RunResult]) -> Rate:
    attempts = [sum(story.attempts for story in run.summary.tasks.values()) for run in runs]
    tokens = [run.summary.totals.tokens for run in runs]
    states = Counter(run.status for run in runs)
    return Rate("run", len(runs), states, Spread(tuple(attempts)), Spread(tuple(tokens)))


def _rates_of_tasks(runs: Sequence[RunResult]) -> list[Rate]:
    return [_rate_of_task(name, runs) for name in {name: None for run in runs for name in run.summary.tasks}]


def _rate_of_task(name: str, runs: Sequence[RunResult]) -> Rate:
    stories = [run.summary.tasks[name] for run in runs if name in run.summary.tasks]
    states = Counter(story.state for story in stories)
    if missing := len(runs) - len(stories):
        states[_NOT_BEGUN] = missing
    attempts, tokens = (story.attempts for story in stories), (story.usage.tokens for story in stories)
    return Rate(name, len(runs), states, Spread(tuple(attempts)), Spread(tuple(tokens)))


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
