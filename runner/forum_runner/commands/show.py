"""`forum show`"""

from __future__ import annotations

import sys

import click

from forum_runner.commands.options import WORKSPACE
from forum_runner.commands.output import wants_color, write_document, write_parts


@click.command("show", short_help="Show what happened in a run.")
@click.argument("run", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: str, as_json: bool) -> int:
    """Show what happened in a run: tasks, attempts, cost, verdicts, gates, outputs, and how it ended.

    RUN is a run directory, a ledger file, `-` for standard input, or the id of a run in .forum/runs (at least its first
    eight characters).

    Reads the ledger, even if it is damaged or unsealed. To find out whether it is valid, use `forum verify`.
    """
    from forum_runner import api

    found = api.show(WORKSPACE, run)
    if as_json:
        from forum_runner.report.summary_json import render_summary_json

        write_document(render_summary_json(found.history, found.decisions))
    else:
        from forum_runner.report.summary_text import render_summary

        color = wants_color(sys.stdout)
        lines = render_summary(found.history, run, found.failures, found.decisions, color=color)
        write_parts(f"{line}\n" for line in lines)
    return 0
