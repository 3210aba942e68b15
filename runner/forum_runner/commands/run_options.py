"""Options, signals, errors and results of `forum run` and `forum resume`."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forum_runner import api
from forum_runner.api import ExitCode, ResumeRequest, RetryRequest, RunRequest
from forum_runner.commands.event_loop import run_main
from forum_runner.commands.failure import describe_failure
from forum_runner.commands.options import JSON, WORKSPACE, combine_options
from forum_runner.commands.output import discard, echo, show_findings, wants_color, write_json

if TYPE_CHECKING:
    from forum_runner.app.run_handle import EndedRun, RunHandle
    from forum_runner.progress.run_display import RunDisplay
    from forum_runner.report.run_result import RunResult

_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MODES = ("auto", "tty", "plain", "json", "none")

run_options = combine_options(
    click.option(
        "--engine",
        metavar="NAME",
        help="Run adapters in this engine: local, process or an installed engine.  [default: the policy's]",
    ),
    click.option(
        "--progress",
        type=click.Choice(_MODES),
        default="auto",
        show_default=True,
        help="Show progress on standard error in this form.",
    ),
    JSON,
)


def with_display(mode: str, run: Callable[[RunDisplay], int]) -> int:
    """Calls `run` with the display for a mode. Once the display has written JSON, errors are JSON events too."""
    from forum_runner.progress import make_progress
    from forum_runner.progress.json_lines import JsonProgress

    display = make_progress(mode, sys.stderr, color=wants_color(sys.stderr))
    try:
        return run(display)
    except api.InvalidWorkflowError as error:
        show_findings(error.report)
        return error.exit_code
    except click.ClickException:
        raise
    except (KeyboardInterrupt, Exception) as error:
        if not isinstance(display, JsonProgress) or not display.has_written:
            raise
        message, code = describe_failure(error)
        display.event("error", text=message.removeprefix("forum: "), exit_code=int(code))
        if isinstance(error, OSError):
            discard(sys.stdout)
        return code


def enable_garbage_collection() -> None:
    """Enables the garbage collector, for runs that last days. Objects that already exist are excluded."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 100)


async def wait_for(handle: RunHandle) -> EndedRun:
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


def run_request(request: RunRequest | ResumeRequest | RetryRequest, display: RunDisplay, *, as_json: bool) -> int:
    """Executes a request, and prints the result of the run."""

    async def main() -> EndedRun:
        return await wait_for(await api.start(WORKSPACE, request, display))

    enable_garbage_collection()
    ended = run_main(main())
    if ended.already_finished:
        hint = "" if ended.status == "passed" else "; start a new run from it with 'forum resume --failed'"
        display.notice(f"the run has finished with the status '{ended.status}'{hint}")
    for decision in ended.reuse_decisions:
        fate = "reuse" if decision.is_reused else "run"
        display.event("reuse", f"  {decision}", task=decision.task, fate=fate, reason=decision.reason)
    return _show_result(ended, display, as_json=as_json)


def _show_result(ended: EndedRun, display: RunDisplay, *, as_json: bool) -> int:
    from forum_runner.report.run_result_json import result_document
    from forum_runner.report.run_result_text import render_result
    from forum_runner.report.step_summary import render_step_summary

    result = ended.result()
    document = (lambda: result_document(result)) if as_json else None
    location = f"the run is in '{ended.directory}'"
    is_printed = _show(document, lambda color: render_result(result, color=color), location, display)
    _append_step_summary(lambda: render_step_summary(result), display)
    return ended.exit_code if is_printed else ended.exit_code or ExitCode.FAILED


def show_pass_rates(runs: Sequence[RunResult], exit_code: ExitCode, display: RunDisplay, *, as_json: bool) -> int:
    """Prints how often tasks passed in several runs of one plan."""
    from forum_runner.report.pass_rates import compute_pass_rates, pass_rates_document, render_pass_rates
    from forum_runner.report.step_pass_rates import render_step_pass_rates

    rates = compute_pass_rates(runs)
    document = (lambda: pass_rates_document(rates)) if as_json else None
    location = f"the last run is in '{runs[-1].directory}'"
    is_printed = _show(document, lambda color: render_pass_rates(rates, color=color), location, display)
    _append_step_summary(lambda: render_step_pass_rates(rates), display)
    return exit_code if is_printed else exit_code or ExitCode.FAILED


def _show(
    document: Callable[[], Any] | None, render: Callable[[bool], str], location: str, display: RunDisplay
) -> bool:
    """Prints a document or else text. If that fails, a notice has the `location` of the run."""
    color = wants_color(sys.stdout)
    try:
        if document is not None:
            write_json(document())
        else:
            echo(render(color), newline=False, color=color)
    except OSError as error:
        display.notice(f"cannot print the result: {error.strerror}; {location}")
        discard(sys.stdout)
        return False
    return True


def _append_step_summary(render: Callable[[], str], display: RunDisplay) -> None:
    """Appends a result to the summary of a GitHub step."""
    from forum_runner.report.step_summary import append_step_summary

    if path := os.environ.get(_STEP_SUMMARY):
        problem = append_step_summary(Path(path), render())
        if problem is not None:
            display.notice(f"cannot write the step summary: {problem}")
