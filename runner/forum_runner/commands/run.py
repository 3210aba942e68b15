"""The command `forum run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner import api
from forum_runner.api import ExitCode, RunRequest, TaskSelection
from forum_runner.commands.event_loop import run_main
from forum_runner.commands.options import OUT, WORKSPACE, bundle_options, read_inputs
from forum_runner.commands.output import echo, write_json
from forum_runner.commands.run_options import (
    enable_garbage_collection,
    run_options,
    run_request,
    show_pass_rates,
    wait_for,
    with_display,
)

if TYPE_CHECKING:
    from forum_runner.progress.run_display import RunDisplay
    from forum_runner.report.run_result import RunResult


@click.command("run", short_help="Run a workflow and record what happens.")
@click.argument("file")
@bundle_options
@click.option("--only", multiple=True, metavar="TASK", help="Run only this task. Repeatable.")
@click.option(
    "--from", "start", multiple=True, metavar="TASK", help="Run this task and every task downstream of it. Repeatable."
)
@click.option(
    "--until",
    multiple=True,
    metavar="TASK",
    help="Run this task and every task upstream of it. Repeatable. With --from, run the tasks between them.",
)
@click.option(
    "--base",
    metavar="RUN",
    help="With --only or --from, reuse results from this run.  [default: the workflow's last run]",
)
@click.option(
    "--scripted",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Answer every call from the workflow's script, or from FILE. No program or model is called.",
)
@click.option(
    "--deterministic", is_flag=True, help="Like --scripted, in virtual time: repeated runs are byte-for-byte identical."
)
@click.option("--answers-from", metavar="RUN", help="Answer every call with the recorded answers of an earlier run.")
@click.option("--repeat", type=click.IntRange(1, 10_000), metavar="N", help="Run N times and report pass rates.")
@click.option("--dry-run", is_flag=True, help="Report what would run and what it could cost, without running it.")
@OUT
@run_options
def command(
    file: str,
    root: Path | None,
    input_texts: tuple[str, ...],
    inputs_file: Path | None,
    only: tuple[str, ...],
    start: tuple[str, ...],
    until: tuple[str, ...],
    base: str | None,
    scripted: str | None,
    deterministic: bool,
    answers_from: str | None,
    repeat: int | None,
    dry_run: bool,
    out: Path | None,
    engine: str | None,
    progress: str,
    as_json: bool,
) -> int:
    """Run a workflow and record what happens.

    Each step is recorded in the ledger in the run directory before another step that depends on it starts.

    Exits 0 if the run passed, 1 if a task failed, 2 if the workflow or the command line is invalid, 4 if a budget
    stopped the run, 5 if a gate waits for a decision (`forum gate`), 6 if a task was rejected at its gate or the policy
    does not allow the workflow, 7 if the run directory could not be written, 8 if a credential is not set, and 130 if
    the run was interrupted (`forum resume` continues it). With --repeat, exits with the code of the runs that did not
    pass, or 1 if their codes differ. If a run pauses or is interrupted, the remaining runs are not started, and the
    exit code is the code of that run.
    """
    _check_usage(out, repeat, scripted, answers_from, deterministic=deterministic)
    tasks = TaskSelection(only, start, until)
    if base is not None and not tasks.needs_base:
        raise click.UsageError("--base requires --only or --from")
    request = RunRequest(
        file,
        root,
        read_inputs(input_texts, inputs_file),
        tasks,
        base,
        is_scripted=scripted is not None,
        is_deterministic=deterministic,
        script=scripted or None,
        answers_from=answers_from,
        out=out,
        engine=engine,
    )

    def run(display: RunDisplay) -> int:
        if dry_run:
            return _show_forecast(request, display, as_json=as_json)
        if repeat is not None:
            return _repeat(request, repeat, display, as_json=as_json)
        return run_request(request, display, as_json=as_json)

    return with_display(progress, run)


def _check_usage(
    out: Path | None, repeat: int | None, scripted: str | None, answers_from: str | None, *, deterministic: bool
) -> None:
    if repeat is not None and out is not None:
        raise click.UsageError("--out cannot be used with --repeat: each run has its own directory")
    if answers_from is not None and (scripted is not None or deterministic):
        raise click.UsageError("--answers-from cannot be combined with --scripted or --deterministic")


def _repeat(request: RunRequest, times: int, display: RunDisplay, *, as_json: bool) -> int:
    runs: list[RunResult] = []
    codes: list[ExitCode] = []

    async def main() -> None:
        async for handle in api.repeat(WORKSPACE, request, times, display):
            finished = await wait_for(handle)
            result = finished.result()
            # All runs have the same plan: one copy is enough.
            runs.append(replace(result, context=replace(result.context, plan=runs[0].context.plan)) if runs else result)
            codes.append(finished.exit_code)
            fields = {"run": result.history.run, "directory": str(result.directory), "status": result.status}
            message = f"run {len(runs)} of {times}: {result.status}, {result.directory}"
            display.event("repeated", message, number=len(runs), of=times, **fields)

    enable_garbage_collection()
    run_main(main())
    if len(runs) < times:
        display.notice(f"stopped after run {len(runs)} of {times}, which was paused or interrupted")
    return show_pass_rates(runs, _combined_exit_code(codes), display, as_json=as_json)


def _combined_exit_code(codes: Sequence[ExitCode]) -> ExitCode:
    """The code of a paused or interrupted run, or of the runs that did not pass, or 1 if their codes differ."""
    if codes[-1] in (ExitCode.PAUSED, ExitCode.INTERRUPTED):
        return codes[-1]
    failures = {code for code in codes if code is not ExitCode.OK}
    return ExitCode.FAILED if len(failures) > 1 else max(failures, default=ExitCode.OK)


def _show_forecast(request: RunRequest, display: RunDisplay, *, as_json: bool) -> int:
    from forum_runner.report.forecast_text import render_forecast

    result = api.forecast(WORKSPACE, request, display)
    if as_json:
        write_json(asdict(result))
    else:
        echo(render_forecast(result), newline=False)
    return 0
