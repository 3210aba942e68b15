"""How often tasks passed in several runs of one plan: what `forum run --repeat` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from forum_runner.report import counted, joined
from forum_runner.report.amounts import clip, duration, money
from forum_runner.report.run_commands import command_line, verify_line
from forum_runner.report.run_result import RunResult
from forum_runner.report.table import table
from forum_runner.report.task_table import NOT_STARTED

HEADING = ("task", "passed", "otherwise", "attempts", "tokens")
_MAX_ROWS = 200


@dataclass(frozen=True, slots=True)
class Spread:
    """One number per run."""

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
        """`1.4 (1 to 3)`; one number if all are equal, and nothing if all are 0."""
        if self.least == self.most:
            return f"{self.most:,}" if self.most else ""
        return f"{self.mean:,.1f}".removesuffix(".0") + f" ({self.least:,} to {self.most:,})"


@dataclass(frozen=True, slots=True)
class PassRate:
    """The pass rate of a task, or of the run as a whole. `states` counts the runs by its end state."""

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
        return ", ".join(f"{number:,} {clip(state)}" for state, number in _but_passed(self.states).items())

    def __str__(self) -> str:
        return f"{self.passed:,} of {self.runs:,} ({self.percent:g}%)"


@dataclass(frozen=True, slots=True)
class PassRates:
    """The rates of several runs of one plan, in their order."""

    runs: tuple[RunResult, ...]
    whole: PassRate
    tasks: tuple[PassRate, ...]

    @property
    def headline(self) -> str:
        """`3 runs: 2 of 3 (66.6%) passed; 1 failed`."""
        others = f"; {self.whole.others}" if self.whole.others else ""
        return f"{counted(self.whole.runs, 'run')}: {self.whole} passed{others}"

    @property
    def spent(self) -> list[tuple[str, str]]:
        usages = [run.history.usage for run in self.runs]
        words = [("tokens", f"{self.whole.tokens} a run")] if any(usage.tokens for usage in usages) else []
        words.append(("spent", f"{money(sum(usage.micro_usd for usage in usages))} in all"))
        return [*words, ("work", f"{duration(sum(usage.wall_ms for usage in usages))} in all")]

    def rows(self) -> tuple[list[tuple[str, ...]], str | None]:
        """The tasks that passed least often, in their order, and a note on those that are left out."""
        kept = {rate.name for rate in sorted(self.tasks, key=lambda rate: rate.passed)[:_MAX_ROWS]}
        left = len(self.tasks) - len(kept)
        note = f"and {left:,} more, which passed at least as often" if left else None
        return [_row(rate) for rate in self.tasks if rate.name in kept], note


def pass_rates_of(runs: Sequence[RunResult]) -> PassRates:
    return PassRates(tuple(runs), _rate_of_runs(runs), tuple(_rates_of_tasks(runs)))


def next_commands(runs: Sequence[RunResult]) -> list[tuple[str, str]]:
    """The commands to run next: verify each run, and resume those that did not finish."""
    lines = [("verify", verify_line(run.directory, run.history.head)) for run in runs]
    return lines + [("resume", command_line("resume", run.argument)) for run in runs if run.is_resumable]


def render_pass_rates(rates: PassRates, *, color: bool = False) -> str:
    rows, note = rates.rows()
    lines = [rates.headline, "", *table([HEADING, *rows], color=color)]
    lines += [note] if note else []
    lines.append("")
    lines += (f"{name:<8}  {words}" for name, words in [*rates.spent, *next_commands(rates.runs)])
    return joined(lines)


def pass_rates_document(rates: PassRates) -> dict[str, Any]:
    return {
        "apiVersion": "forum/v1",
        "kind": "PassRates",
        "runs": [_run(run) for run in rates.runs],
        "whole": _rate(rates.whole),
        "tasks": [{"task": rate.name, **_rate(rate)} for rate in rates.tasks],
    }


def _run(run: RunResult) -> dict[str, Any]:
    return {
        "run": run.history.run,
        "status": run.status,
        "exit_code": run.exit_code,
        "directory": str(run.directory),
        "head": run.history.head,
        "verify": verify_line(run.directory, run.history.head),
    }


def _rate_of_runs(runs: Sequence[RunResult]) -> PassRate:
    attempts = [run.history.attempts for run in runs]
    tokens = [run.history.usage.tokens for run in runs]
    states = Counter(run.status for run in runs)
    return PassRate("run", len(runs), states, Spread(tuple(attempts)), Spread(tuple(tokens)))


def _rates_of_tasks(runs: Sequence[RunResult]) -> list[PassRate]:
    return [_rate_of_task(name, runs) for name in {name: None for run in runs for name in run.history.tasks}]


def _rate_of_task(name: str, runs: Sequence[RunResult]) -> PassRate:
    tasks = [run.history.tasks[name] for run in runs if name in run.history.tasks]
    states = Counter(task.state for task in tasks)
    if missing := len(runs) - len(tasks):
        states[NOT_STARTED] = missing
    attempts, tokens = (task.attempts for task in tasks), (task.usage.tokens for task in tasks)
    return PassRate(name, len(runs), states, Spread(tuple(attempts)), Spread(tuple(tokens)))


def _but_passed(states: Counter[str]) -> dict[str, int]:
    return {state: number for state, number in sorted(states.items()) if state != "passed"}


def _row(rate: PassRate) -> tuple[str, ...]:
    return clip(rate.name, 80), str(rate), rate.others, str(rate.attempts), str(rate.tokens)


def _rate(rate: PassRate) -> dict[str, Any]:
    return {
        "passed": rate.passed,
        "of": rate.runs,
        "percent": rate.percent,
        "otherwise": _but_passed(rate.states),
        "attempts": _spread(rate.attempts),
        "tokens": _spread(rate.tokens),
    }


def _spread(spread: Spread) -> dict[str, float]:
    return {"mean": round(spread.mean, 3), "min": spread.least, "max": spread.most}
