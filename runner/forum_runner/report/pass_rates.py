"""How often tasks passed in several runs of one plan, as printed by `forum run --repeat`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import TaskHistory
from forum_runner.manifest.units import counted
from forum_runner.report import join_lines
from forum_runner.report.amounts import clip, duration, money
from forum_runner.report.next_commands import command_line, verify_command
from forum_runner.report.run_result import RunResult
from forum_runner.report.table import table
from forum_runner.report.task_table import NOT_STARTED

HEADING = ("task", "passed", "other states", "attempts", "tokens")
_MAX_ROWS = 200


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean and the range of a number that was measured in several runs; 0 if no run has it."""

    mean: float = 0.0
    minimum: int = 0
    maximum: int = 0

    @classmethod
    def of(cls, numbers: Sequence[int]) -> Spread:
        return cls(sum(numbers) / len(numbers), min(numbers), max(numbers)) if numbers else cls()

    def __str__(self) -> str:
        """The mean and the range: `1.4 (1 to 3)`; one number if all are equal, and nothing if all are 0."""
        if self.minimum == self.maximum:
            return f"{self.maximum:,}" if self.maximum else ""
        return f"{self.mean:,.1f}".removesuffix(".0") + f" ({self.minimum:,} to {self.maximum:,})"


@dataclass(frozen=True, slots=True)
class PassRate:
    """The pass rate of a task, or of the run as a whole. `states` counts the runs by end state."""

    name: str
    states: Counter[str]
    attempts: Spread
    tokens: Spread

    @property
    def runs(self) -> int:
        return self.states.total()

    @property
    def passed(self) -> int:
        return self.states["passed"]

    @property
    def percent(self) -> float:
        """The percentage of runs that passed, rounded down to a tenth, so that 100 means every run."""
        return self.passed * 1000 // self.runs / 10 if self.runs else 0.0

    @property
    def other_states(self) -> dict[str, int]:
        return {state: number for state, number in sorted(self.states.items()) if state != "passed"}

    @property
    def others(self) -> str:
        """The states of the runs that did not pass: `1 failed, 2 skipped`."""
        return ", ".join(f"{number:,} {clip(state)}" for state, number in self.other_states.items())

    def __str__(self) -> str:
        return f"{self.passed:,} of {self.runs:,} ({self.percent:g}%)"


@dataclass(frozen=True, slots=True)
class PassRates:
    """The pass rates of several runs of one plan. Runs and tasks are in their original order."""

    runs: tuple[RunResult, ...]
    overall: PassRate
    tasks: tuple[PassRate, ...]

    @property
    def headline(self) -> str:
        """The first line of the report: `3 runs: 2 of 3 (66.6%) passed; 1 failed`."""
        others = f"; {self.overall.others}" if self.overall.others else ""
        return f"{counted(self.overall.runs, 'run')}: {self.overall} passed{others}"

    @property
    def totals(self) -> list[tuple[str, str]]:
        """Labels and texts: the tokens per run, and the cost and time of all runs."""
        usages = [run.history.usage for run in self.runs]
        words = [("tokens", f"{self.overall.tokens} per run")] if any(usage.tokens for usage in usages) else []
        words.append(("cost", f"{money(sum(usage.micro_usd for usage in usages))} total"))
        return [*words, ("time", f"{duration(sum(usage.wall_ms for usage in usages))} total call time")]

    def rows(self) -> tuple[list[tuple[str, ...]], str | None]:
        """Rows for the tasks that passed least often, in their original order, and a note if others are omitted."""
        selected = {rate.name for rate in sorted(self.tasks, key=lambda rate: rate.passed)[:_MAX_ROWS]}
        omitted = len(self.tasks) - len(selected)
        note = f"and {omitted:,} more, which passed at least as often" if omitted else None
        return [_row(rate) for rate in self.tasks if rate.name in selected], note


def compute_pass_rates(runs: Sequence[RunResult]) -> PassRates:
    overall = _pass_rate("run", Counter(run.status for run in runs), [run.history for run in runs])
    names = {name: None for run in runs for name in run.history.tasks}
    return PassRates(tuple(runs), overall, tuple(_task_rate(name, runs) for name in names))


def labeled_commands(runs: Sequence[RunResult]) -> list[tuple[str, str]]:
    """The commands to run next: verify each run, and resume those that did not finish."""
    lines = [("verify", verify_command(run.directory, run.history.head)) for run in runs]
    return lines + [("resume", command_line("resume", run.run_argument)) for run in runs if run.is_resumable]


def render_pass_rates(rates: PassRates, *, color: bool = False) -> str:
    rows, note = rates.rows()
    lines = [rates.headline, "", *table([HEADING, *rows], color=color)]
    lines += [note] if note else []
    lines.append("")
    lines += (f"{name:<8}  {words}" for name, words in [*rates.totals, *labeled_commands(rates.runs)])
    return join_lines(lines)


def pass_rates_document(rates: PassRates) -> dict[str, Any]:
    return {
        "apiVersion": "forum/v1",
        "kind": "PassRates",
        "runs": [_run(run) for run in rates.runs],
        "whole": _rate(rates.overall),
        "tasks": [{"task": rate.name, **_rate(rate)} for rate in rates.tasks],
    }


def _run(run: RunResult) -> dict[str, Any]:
    return {
        "run": run.history.run,
        "status": run.status,
        "exit_code": run.exit_code,
        "directory": str(run.directory),
        "head": run.history.head,
        "verify": verify_command(run.directory, run.history.head),
    }


def _task_rate(name: str, runs: Sequence[RunResult]) -> PassRate:
    tasks = [run.history.tasks.get(name) for run in runs]
    states = Counter(NOT_STARTED if task is None else task.state for task in tasks)
    return _pass_rate(name, states, [task for task in tasks if task is not None])


def _pass_rate(name: str, states: Counter[str], histories: Sequence[RunHistory | TaskHistory]) -> PassRate:
    attempts = Spread.of([history.attempts for history in histories])
    return PassRate(name, states, attempts, Spread.of([history.usage.tokens for history in histories]))


def _row(rate: PassRate) -> tuple[str, ...]:
    return clip(rate.name, 80), str(rate), rate.others, str(rate.attempts), str(rate.tokens)


def _rate(rate: PassRate) -> dict[str, Any]:
    return {
        "passed": rate.passed,
        "of": rate.runs,
        "percent": rate.percent,
        "otherwise": rate.other_states,
        "attempts": _spread(rate.attempts),
        "tokens": _spread(rate.tokens),
    }


def _spread(spread: Spread) -> dict[str, float]:
    return {"mean": round(spread.mean, 3), "min": spread.minimum, "max": spread.maximum}
