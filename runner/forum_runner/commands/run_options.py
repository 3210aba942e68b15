"""What `forum run` and `forum resume` share: options, and what is printed at the end."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forum_runner.commands.output import discard, say, wants_color, write_document
from forum_runner.errors import ExitCode

if TYPE_CHECKING:
    from forum_runner.app.running import Finished
    from forum_runner.commands.aside import Aside
    from forum_runner.report.run_result import RunResult

_Command = TypeVar("_Command", bound=Callable[..., Any])
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
        click.option("--until", multiple=True, metavar="TASK", help="Only this task and what it needs."),
        click.option("--from", "start", multiple=True, metavar="TASK", help="This task and all that comes after it."),
        click.option("--only", multiple=True, metavar="TASK", help="This task alone."),
    ):
        command = option(command)
    return command


def keep_memory_in_check() -> None:
    """A run may last for days: what was made so far stays, and what is made from now on is looked after."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 100)


def tell_result(finished: Finished, aside: Aside, *, as_json: bool) -> int:
    """Prints how it ended, and appends it to the summary of a GitHub step, if there is one."""
    from forum_runner.app.reading import summarize
    from forum_runner.report.run_result import read_result

    result = read_result(finished.directory, summarize(str(finished.directory)), finished.exit_code)
    exit_code = finished.exit_code
    try:
        _print(result, as_json=as_json)
    except OSError as error:
        aside.notice(f"the result cannot be printed: {error.strerror}; the run is in '{finished.directory}'")
        discard(sys.stdout)
        exit_code = exit_code or ExitCode.FAILED
    step_summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if step_summary:
        from forum_runner.report.step_summary import append_step_summary, render_step_summary

        problem = append_step_summary(Path(step_summary), render_step_summary(result))
        if problem is not None:
            aside.notice(f"the step's summary was not written: {problem}")
    return exit_code


def _print(result: RunResult, *, as_json: bool) -> None:
    if as_json:
        from forum_runner.report.run_result_json import render_result_json

        write_document(render_result_json(result))
    else:
        from forum_runner.report.run_result_text import render_result

        color = wants_color(sys.stdout)
        say(render_result(result, color=color), newline=False, color=color)
