"""What `forum run` and `forum resume` share: options, signals, and the result."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forum_runner import api
from forum_runner.api import ExitCode, ResumeRequest, RetryRequest, RunRequest
from forum_runner.commands.event_loop import run_main
from forum_runner.commands.options import WORKSPACE
from forum_runner.commands.output import discard, say, wants_color, write_document

if TYPE_CHECKING:
    from forum_runner.app.run_handle import FinishedRun, RunHandle
    from forum_runner.commands.run_console import RunConsole
    from forum_runner.report.pass_rates import PassRates
    from forum_runner.report.run_result import RunResult

_Command = TypeVar("_Command", bound=Callable[..., Any])
_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
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
            help="How to show progress, on standard error.",
        ),
    ):
        command = option(command)
    return command


ENGINE = click.option(
    "--engine",
    metavar="NAME",
    help="Where adapters run: local, process or an installed engine.  [default: the policy's]",
)


def selection_options(command: _Command) -> _Command:
    """--only, --from, --until and --base."""
    for option in (
        click.option(
            "--base",
            metavar="RUN",
            help="Reuse results of this run, with --only or --from.  [default: the last run]",
        ),
        click.option(
            "--until",
            multiple=True,
            metavar="TASK",
            help="Run this task and everything before it; with --from, what lies between.",
        ),
        click.option("--from", "start", multiple=True, metavar="TASK", help="Run this task and everything after it."),
        click.option("--only", multiple=True, metavar="TASK", help="Run only this task; not with --from or --until."),
    ):
        command = option(command)
    return command


def keep_memory_in_check() -> None:
    """Turns the garbage collector on again, for runs that last days. What exists already is left out."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 100)


async def wait_for(handle: RunHandle) -> FinishedRun:
    """Waits for a run. The first SIGINT, SIGTERM or SIGHUP pauses it; the second one does not wait for open calls."""
    loop = asyncio.get_running_loop()
    received = count()
    for number in _SIGNALS:
        loop.add_signal_handler(number, lambda: handle.cancel(now=next(received) > 0))
    try:
        return await handle.wait()
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def run_request(request: RunRequest | ResumeRequest | RetryRequest, console: RunConsole, *, as_json: bool) -> int:
    """Runs what is requested, and prints the result."""

    async def main() -> FinishedRun:
        return await wait_for(await api.start(WORKSPACE, request, console))

    keep_memory_in_check()
    finished = run_main(main())
    if finished.was_finished:
        hint = "" if finished.status == "passed" else "; start another one from it with --failed"
        console.notice(f"the run has finished with the status '{finished.status}'{hint}")
    console.show_reuse(finished.decisions)
    return show_result(finished, console, as_json=as_json)


def show_result(finished: FinishedRun, console: RunConsole, *, as_json: bool) -> int:
    """Prints how a run ended, and appends it to the summary of a GitHub step."""
    result = api.result(WORKSPACE, finished)
    is_printed = _try(lambda: _print(result, as_json=as_json), console, f"the run is in '{finished.directory}'")
    if os.environ.get(_STEP_SUMMARY):
        from forum_runner.report.step_summary import render_step_summary

        _append_step_summary(render_step_summary(result), console)
    return finished.exit_code if is_printed else finished.exit_code or ExitCode.FAILED


def show_pass_rates(runs: Sequence[RunResult], exit_code: ExitCode, console: RunConsole, *, as_json: bool) -> int:
    """As `show_result`, for several runs of one plan."""
    from forum_runner.report.pass_rates import pass_rates_of

    rates = pass_rates_of(runs)
    where = f"the last run is in '{runs[-1].directory}'"
    is_printed = _try(lambda: _print_pass_rates(rates, as_json=as_json), console, where)
    if os.environ.get(_STEP_SUMMARY):
        from forum_runner.report.step_pass_rates import render_step_pass_rates

        _append_step_summary(render_step_pass_rates(rates), console)
    return exit_code if is_printed else exit_code or ExitCode.FAILED


def _try(print_: Callable[[], None], console: RunConsole, where: str) -> bool:
    """Whether it could be printed; if not, says `where` the run is."""
    try:
        print_()
    except OSError as error:
        console.notice(f"cannot print the result: {error.strerror}; {where}")
        discard(sys.stdout)
        return False
    return True


def _append_step_summary(summary: str, console: RunConsole) -> None:
    from forum_runner.report.step_summary import append_step_summary

    problem = append_step_summary(Path(os.environ[_STEP_SUMMARY]), summary)
    if problem is not None:
        console.notice(f"cannot write the step summary: {problem}")


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
