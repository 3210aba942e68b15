"""The command `forum resume`."""

from __future__ import annotations

from pathlib import Path

import click

from forum_runner.api import ResumeRequest, RetryRequest
from forum_runner.commands.options import RUN_DIRECTORY, bundle_options, read_inputs
from forum_runner.commands.run_options import run_options, run_request, with_display


@click.command("resume", short_help="Resume an interrupted or paused run.")
@click.argument("run", metavar="RUN")
@bundle_options
@click.option("--failed", is_flag=True, help="Start a new run that reuses the results of unchanged tasks that passed.")
@click.option("--out", type=RUN_DIRECTORY, metavar="DIR", help="With --failed, use DIR as the run directory.")
@run_options
def command(
    run: str,
    root: Path | None,
    input_texts: tuple[str, ...],
    inputs_file: Path | None,
    failed: bool,
    out: Path | None,
    engine: str | None,
    progress: str,
    as_json: bool,
) -> int:
    """Resume a run that was interrupted, killed, or paused at a gate.

    RUN is a run directory, or the id of a run in .forum/runs (at least its first eight characters). The ledger is
    verified first. Finished tasks do not run again. Attempts whose outcome is unknown are recorded as lost, and
    repeated if their task is `idempotent` or the policy allows it. Secret inputs are not recorded: pass them again,
    preferably in a file with --inputs. Other inputs stay the same. If the run has finished, only its result is printed.

    With --failed, a new run starts from the workflow's current files, with inputs that may differ, and reports for
    each task why its result is reused or not. Exit codes are those of `forum run`, and 3 if the ledger is invalid.
    """
    if out is not None and not failed:
        raise click.UsageError("--out requires --failed: a resumed run stays in its directory")
    inputs = read_inputs(input_texts, inputs_file)
    request: RetryRequest | ResumeRequest = ResumeRequest(run, root, inputs, engine=engine)
    if failed:
        request = RetryRequest(run, root, inputs, out, engine)
    return with_display(progress, lambda display: run_request(request, display, as_json=as_json))
