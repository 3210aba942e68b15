"""`forum run`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import RUN_DIRECTORY, bundle_options, read_inputs
from forum_runner.commands.output import say, show_findings, write_document
from forum_runner.commands.run_console import RunConsole, make_run_console
from forum_runner.commands.run_options import (
    keep_memory_in_check,
    progress_options,
    result_of,
    selection_options,
    tell_pass_rates,
    tell_result,
)
from forum_runner.errors import ExitCode

if TYPE_CHECKING:
    from forum_runner.app.reuse import Reuse
    from forum_runner.app.run_preparation import Prepared, Selected
    from forum_runner.report.run_result import RunResult


@click.command("run", short_help="Run a workflow, and record what happens.")
@click.argument("file")
@bundle_options
@selection_options
@click.option(
    "--scripted",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Answer every call from the workflow's script, or from FILE: nothing is called, and nothing is spent.",
)
@click.option(
    "--deterministic", is_flag=True, help="As --scripted, in virtual time: every run is the same to the byte."
)
@click.option("--answers-from", metavar="RUN", help="Answer every call as it was answered in an earlier run.")
@click.option(
    "--repeat", type=click.IntRange(1, 10_000), metavar="N", help="Run N times, and tell how often each passes."
)
@click.option("--dry-run", is_flag=True, help="Tell what would be done, and what it could cost. Nothing is run.")
@click.option(
    "--out", type=RUN_DIRECTORY, metavar="DIR", help="A directory for this run alone.  [default: .forum/runs/ID]"
)
@progress_options
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
    progress: str,
    as_json: bool,
) -> int:
    """Run a workflow, and record what happens.

    Every step is written to a ledger in the run directory before anything depends on it. Exits 0 if all tasks passed,
    1 if one failed, 4 if a budget stopped the run, 5 if it waits for a person (`forum gate`), 6 if a person or the
    policy refused, 7 if the ledger could not be written, 8 if a credential is not set, 130 if it was interrupted: then
    `forum resume` goes on with it. With --repeat it exits as the runs that did not pass, if these all ended alike.
    """
    from forum_runner.app.run_preparation import Selected, prepare
    from forum_runner.app.workflows import compile_file
    from forum_runner.finding import exit_code_of

    _check_usage(out, repeat, scripted, answers_from, deterministic=deterministic)
    selected = Selected(only, start, until)
    if base is not None and not selected.needs_base:
        raise click.UsageError("--base goes with --only or --from")
    inputs = read_inputs(input_texts, inputs_file)
    compiled = compile_file(file, root, inputs, script=scripted or None)
    if compiled.wave_plan is None:
        show_findings(compiled.report)
        return exit_code_of(compiled.report.findings)
    aside = make_run_console(progress)
    with aside.telling_errors():
        aside.warn(compiled.report)
        prepared = prepare(
            compiled,
            file,
            is_scripted=deterministic or scripted is not None,
            script=scripted,
            answers_from=answers_from,
            selected=selected,
            inputs=inputs,
            is_complete=not dry_run,
        )
        with _reuse(prepared, selected, base) as reuse:
            if dry_run:
                return _tell_what_would_be_done(prepared, reuse, as_json=as_json)
            keep_memory_in_check()
            if repeat is not None:
                return _repeat(prepared, reuse, repeat, aside, is_deterministic=deterministic, as_json=as_json)
            return _run_once(prepared, reuse, out, aside, is_deterministic=deterministic, as_json=as_json)


def _reuse(prepared: Prepared, selected: Selected, base: str | None) -> Reuse:
    from forum_runner.app.reuse import Reuse

    among = prepared.to_reuse if selected.needs_base else None
    needs_base = base is not None or bool(prepared.to_reuse)
    return Reuse(prepared, (base or "") if needs_base else None, among=among)


def _check_usage(
    out: Path | None, repeat: int | None, scripted: str | None, answers_from: str | None, *, deterministic: bool
) -> None:
    if repeat is not None and out is not None:
        raise click.UsageError("--repeat makes a run directory for each run; leave out --out")
    if answers_from is not None and (scripted is not None or deterministic):
        raise click.UsageError("--answers-from answers every call, and so does a script; give one of them")


def _run_once(
    prepared: Prepared, reuse: Reuse, out: Path | None, aside: RunConsole, *, is_deterministic: bool, as_json: bool
) -> int:
    from forum_runner.app.runs import RunServices, start

    means = RunServices(aside.make_progress(), reuse.find)
    finished = start(prepared, means, is_deterministic=is_deterministic, out=out, source=reuse.source)
    reuse.keep(finished.directory)
    aside.tell_reuse(reuse.decisions)
    return tell_result(finished, aside, as_json=as_json)


def _repeat(
    prepared: Prepared, reuse: Reuse, times: int, aside: RunConsole, *, is_deterministic: bool, as_json: bool
) -> int:
    from dataclasses import replace

    from forum_runner.app.runs import RunServices, start

    runs: list[RunResult] = []
    codes = []
    for number in range(1, times + 1):
        reuse.forget_what_was_run()
        # A repetition asks how often something comes out: what is reused comes out the same every time.
        means = RunServices(aside.make_progress(), reuse.find_in_base)
        finished = start(prepared, means, is_deterministic=is_deterministic, source=reuse.source)
        result = result_of(finished)
        # They have one plan, and it need not be held for each.
        runs.append(replace(result, context=replace(result.context, plan=runs[0].context.plan)) if runs else result)
        aside.tell_repetition(number, times, result)
        codes.append(finished.exit_code)
        if finished.outcome.status == "paused":
            if number < times:
                aside.notice(f"of {times} runs {times - number} were not made, as this one did not end")
            break
    return tell_pass_rates(runs, _exit_code_of_all(codes), aside, as_json=as_json)


def _exit_code_of_all(codes: Sequence[ExitCode]) -> ExitCode:
    """Of a run that did not end, its own. Otherwise that of the runs that did not pass, if they share one."""
    if codes[-1] in (ExitCode.PAUSED, ExitCode.INTERRUPTED):
        return codes[-1]
    others = {code for code in codes if code is not ExitCode.OK}
    return ExitCode.FAILED if len(others) > 1 else max(others, default=ExitCode.OK)


def _tell_what_would_be_done(prepared: Prepared, reuse: Reuse, *, as_json: bool) -> int:
    from forum_runner.app.forecast import forecast
    from forum_runner.report.forecast import render_forecast, render_forecast_json

    found = forecast(prepared, reuse)
    if as_json:
        write_document(render_forecast_json(found))
    else:
        say(render_forecast(found), newline=False)
    return 0
