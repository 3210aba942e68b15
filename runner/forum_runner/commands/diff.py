"""The command `forum diff`."""

from __future__ import annotations

import sys

import click

from forum_runner.commands.options import JSON, WORKSPACE
from forum_runner.commands.output import wants_color, write_json, write_parts


@click.command("diff", short_help="Show where two runs diverge.")
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@JSON
def command(left: str, right: str, as_json: bool) -> int:
    """Show where two runs diverge: the first entry that differs, then differences in plan, tasks, outputs and cost.

    A and B are run directories, ledger files, ids of runs in .forum/runs, or (at most one of them) `-` for standard
    input.

    Compares the entries of each task, of each output and of the run itself by kind, data and body digests. Ignores
    timestamps, run ids, sequence numbers, causes and line hashes. Bodies that are stored with a salt have a different
    digest in every run and cannot be compared.

    Exits 0 if the runs do not differ, 1 if they differ or contain lines that are not entries, and 2 if a run cannot
    be read.
    """
    from forum_runner import api
    from forum_runner.errors import ExitCode

    difference = api.diff(WORKSPACE, left, right)
    if as_json:
        from forum_runner.report.difference_json import difference_document

        write_json(difference_document(difference))
    else:
        from forum_runner.report.difference_text import render_difference

        write_parts(f"{line}\n" for line in render_difference(difference, color=wants_color(sys.stdout)))
    return ExitCode.OK if difference.is_empty else ExitCode.FAILED
