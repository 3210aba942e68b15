"""`forum diff`"""

from __future__ import annotations

import sys

import click

from forum_runner.commands.output import wants_color, write_document, write_parts


@click.command("diff", short_help="Say where two runs part.")
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(left: str, right: str, as_json: bool) -> int:
    """Say where two runs part: the first entry of A that B does not tell, then plan, tasks, outputs and what was spent.

    A and B are run directories, ledgers' files, `-` for standard input (one of them), or ids of runs in .forum/runs.

    What is told of a task is compared entry by entry: kind, data, and the digests of bodies. Times, run ids, seqs,
    causes and the hashes of lines are left out; salted bodies have a digest of their own in every run, and cannot be
    compared.

    Exits 0 if there is no difference, 1 if there is one, and 2 if a run cannot be read.
    """
    from forum_runner.app.reading import compare_runs
    from forum_runner.errors import ExitCode

    difference = compare_runs(left, right)
    if as_json:
        from forum_runner.report.difference_json import render_difference_json

        write_document(render_difference_json(difference))
    else:
        from forum_runner.report.difference_text import render_difference

        write_parts(f"{line}\n" for line in render_difference(difference, color=wants_color(sys.stdout)))
    return ExitCode.OK if difference.is_none else ExitCode.FAILED
