"""What `forum run` and `forum resume` share: options, and what is printed at the end."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forum_runner.commands.output import discard, say, wants_color, write_document
from forum_runner.errors import ExitCode

if TYPE_CHECKING:
    from forum_runner.app.runs import Finished
    from forum_runner.commands.run_console import RunConsole
    from forum_runner.report.pass_rates import PassRates
    from forum_runner.report.run_result import RunResult

_Command = TypeVar("_Command", bound=Callable[..., Any])
_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
_MODES = ("auto", "tty", "plain", "json", "none")


def progress_options(command: _Command) -> _Command:
    """--progress and --json."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option(
            "--progress",
            type=click.Choice(_MODES),
            default="auto",
            show_default=True,
            help="What is shown while it runs, on standard error.",
        ),
    ):
        command = option(command)
    return command


def selection_options(command: _Command) -> _Command:
    """--only, --from, --until and --base."""
    for option in (
        click.option(
            "--base",
            metavar="RUN",
            help="The run that results are reused from, with --only and --from.  [default: the last one]",
        ),
        click.option(
            "--until",
            multiple=True,
            metavar="TASK",
            help="Only this task and what it needs; with --from, what lies between.",
        ),
        click.option("--from", "start", multiple=True, metavar="TASK", help="This task and all that comes after it."),
        click.option("--only", multiple=True, metavar="TASK", help="This task alone; not with --from or --until."),
    ):
        command = option(command)
    return command


def keep_memory_in_check() -> None:
    """A run may last for days: what was made so far stays, and what is made from now on is looked after."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 100)


def tell_result(finished: Finished, aside: RunConsole, *, as_json: bool) -> int:
    """Prints how it ended, and appends it to the summary of a GitHub step, if there is one."""
    result = result_of(finished)
    is_printed = _try(lambda: _print(result, as_json=as_json), aside, f"the run is in '{finished.directory}'")
    if os.environ.get(_STEP_SUMMARY):
        from forum_runner.report.step_summary import render_step_summary

        _append_step_summary(render_step_summary(result), aside)
    return finished.exit_code if is_printed else finished.exit_code or ExitCode.FAILED


def tell_pass_rates(runs: Sequence[RunResult], exit_code: ExitCode, aside: RunConsole, *, as_json: bool) -> int:
    """The same of several runs of one plan."""
    from forum_runner.report.pass_rates import pass_rates_of

    rates = pass_rates_of(runs)
    where = f"the last run is in '{runs[-1].directory}'"
    is_printed = _try(lambda: _print_pass_rates(rates, as_json=as_json), aside, where)
    if os.environ.get(_STEP_SUMMARY):
        from forum_runner.report.step_pass_rates import render_step_pass_rates

        _append_step_summary(render_step_pass_rates(rates), aside)
    return exit_code if is_printed else exit_code or ExitCode.FAILED


def result_of(finished: Finished) -> RunResult:
    from forum_runner.app.reading import summarize
    from forum_runner.report.run_result import read_result

    return read_result(finished.directory, summarize(str(finished.directory)), finished.exit_code)


def _try(print_: Callable[[], None], aside: RunConsole, where: str) -> bool:
    """Whether it could be printed; if not, it is said `where` to look for what was done."""
    try:
        print_()
    except OSError as error:
        aside.notice(f"the result cannot be printed: {error.strerror}; {where}")
        discard(sys.stdout)
        return False
    return True


def _append_step_summary(summary: str, aside: RunConsole) -> None:
    from forum_runner.report.step_summary import append_step_summary

    problem = append_step_summary(Path(os.environ[_STEP_SUMMARY]), summary)
    if problem is not None:
        aside.notice(f"the step's summary was not written: {problem}")


def _print(result: RunResult, *, as_json: bool) -> None:
    if as_json:
        from forum_runner.report.run_result_json import render_result_json

        write_document(render_result_json(result))
    else:
        from forum_runner.report.run_result_text import render_result

        color = wants_color(sys.stdout)
        say(render_result(result, color=color), newline=False, color=color)


def _print_pass_rates(rates: PassRates, *, as_json: bool) -> None:
    from forum_runner.report.pass_rates import render_pass_rates, render_pass_rates_json

    if as_json:
        write_document(render_pass_rates_json(rates))
    else:
        color = wants_color(sys.stdout)
        say(render_pass_rates(rates, color=color), newline=False, color=color)
