"""`forum resume`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import RUN_DIRECTORY, bundle_options, read_inputs
from forum_runner.commands.output import show_findings
from forum_runner.commands.run_console import RunConsole, make_run_console
from forum_runner.commands.run_options import keep_memory_in_check, progress_options, tell_result

if TYPE_CHECKING:
    from forum_runner.app.resume import Stopped
    from forum_runner.app.runs import Finished
    from forum_runner.app.workflows import Inputs


@click.command("resume", short_help="Go on with a run that stopped.")
@click.argument("run", metavar="RUN")
@bundle_options
@click.option(
    "--failed",
    is_flag=True,
    help="Begin a new run from this one: what passed and is unchanged is reused, the rest is run.",
)
@click.option("--out", type=RUN_DIRECTORY, metavar="DIR", help="With --failed: a directory for the new run alone.")
@progress_options
def command(
    run: str,
    root: Path | None,
    input_texts: tuple[str, ...],
    inputs_file: Path | None,
    failed: bool,
    out: Path | None,
    progress: str,
    as_json: bool,
) -> int:
    """Go on with a run that was interrupted, killed, or paused at a gate.

    RUN is a run directory, or the id of a run in .forum/runs (its first eight characters or more). The ledger is
    verified first. Finished tasks are not run again; an attempt of which nobody knows how it ended is recorded as lost,
    and made again if its task is `idempotent` or the policy says so. Secret inputs are given again, best in a file with
    --inputs: others stay as they were. Of a run that has ended only the result is printed.

    With --failed a new run is begun, from the workflow's files as they are and with inputs that may be edited. It says
    for each task why it is reused or run again. Exit codes are those of `forum run`.
    """
    from forum_runner.app.resume import find_run, find_stopped

    if out is not None and not failed:
        raise click.UsageError("a run goes on where it is; --out goes with --failed")
    inputs = read_inputs(input_texts, inputs_file)
    found = find_run(run)
    aside = make_run_console(progress)
    if found.ended is not None and not failed:
        return _tell_ended(found.ended, aside, as_json=as_json)
    stopped = find_stopped(found, root)
    keep_memory_in_check()
    with aside.telling_errors():
        if failed:
            return _begin_anew(stopped, inputs, out, aside, as_json=as_json)
        return _go_on(stopped, inputs, aside, as_json=as_json)


def _tell_ended(ended: Finished, aside: RunConsole, *, as_json: bool) -> int:
    hint = "" if ended.outcome.status == "passed" else "; with --failed a new run begins from it"
    with aside.telling_errors():
        aside.notice(f"the run has ended, with the status '{ended.outcome.status}': nothing is left to do{hint}")
        return tell_result(ended, aside, as_json=as_json)


def _go_on(stopped: Stopped, inputs: Inputs, aside: RunConsole, *, as_json: bool) -> int:
    from forum_runner.app.resume import changed_files, resume
    from forum_runner.app.resume_inputs import secrets_given_again
    from forum_runner.app.reuse import Reuse
    from forum_runner.app.runs import RunServices

    secrets = secrets_given_again(stopped.prepared.wave_plan, inputs)
    changed = changed_files(stopped)
    if changed:
        named = f"'{changed[0]}'" + (f" and {len(changed) - 1} more" if len(changed) > 1 else "")
        aside.notice(f"changed since the run began: {named}; it goes on as it was planned, --failed begins anew")
    base = stopped.base
    if base is not None and not base.is_dir():
        aside.notice(f"the run '{base}' is not there: nothing more is reused from it")
        base = None
    with Reuse(stopped.prepared, None if base is None else str(base), among=stopped.among) as reuse:
        finished = resume(stopped, secrets, RunServices(aside.make_progress(), reuse.find, tell=aside.tell_fate))
        reuse.keep(finished.directory)
        aside.tell_reuse(reuse.decisions)
    return tell_result(finished, aside, as_json=as_json)


def _begin_anew(stopped: Stopped, inputs: Inputs, out: Path | None, aside: RunConsole, *, as_json: bool) -> int:
    from forum_runner.app.reuse import Reuse
    from forum_runner.app.run_preparation import prepare
    from forum_runner.app.runs import RunServices, start
    from forum_runner.app.workflows import Inputs, compile_file
    from forum_runner.finding import exit_code_of

    before = stopped.prepared
    # What the run was given counts, unless something else is given now.
    known = before.given.file if before.given.file is not None and before.given.file.is_file() else None
    inputs = Inputs({**before.given.texts, **inputs.texts}, inputs.file or known)
    script = None if before.script is None else str(before.script)
    workflow = _shown(before.root / before.workflow)
    compiled = compile_file(workflow, before.root, inputs, script=script)
    if compiled.wave_plan is None:
        show_findings(compiled.report)
        return exit_code_of(compiled.report.findings)
    aside.warn(compiled.report)
    prepared = prepare(
        compiled,
        workflow,
        is_scripted=before.answers is not None,
        script=script,
        answers_from=None if before.recorded is None else str(before.recorded.directory),
        selected=before.given.selected,
        inputs=inputs,
    )
    with Reuse(prepared, str(stopped.directory), uses_cache=False) as reuse:
        finished = start(
            prepared,
            RunServices(aside.make_progress(), reuse.find),
            is_deterministic=stopped.mode == "deterministic",
            out=out,
            source=reuse.source,
        )
        aside.tell_reuse(reuse.decisions)
    return tell_result(finished, aside, as_json=as_json)


def _shown(path: Path) -> str:
    """From here, where that is shorter."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
