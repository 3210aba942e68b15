"""The command `forum show`."""

from __future__ import annotations

import sys

import click

from forum_runner.commands.options import JSON, WORKSPACE
from forum_runner.commands.output import wants_color, write_json, write_parts


@click.command("show", short_help="Show what happened in a run.")
@click.argument("run", metavar="RUN")
@JSON
def command(run: str, as_json: bool) -> int:
    """Show what happened in a run: tasks, attempts, cost, verdicts, gates, outputs, and how it ended.

    RUN is a run directory, a ledger file, `-` for standard input, or the id of a run in .forum/runs (at least its first
    eight characters).

    Reads the ledger, even if it is damaged or unsealed. To find out whether it is valid, use `forum verify`.
    """
    from forum_runner import api

    found = api.show(WORKSPACE, run)
    if as_json:
        from forum_runner.report.summary_json import summary_document

        document = summary_document(found.history, found.reasons)
        write_json({"apiVersion": "forum/v1", "kind": "RunSummary", **document})
    else:
        from forum_runner.report.summary_text import render_summary

        color = wants_color(sys.stdout)
        lines = render_summary(found.history, run, found.failures, found.reasons, color=color)
        write_parts(f"{line}\n" for line in lines)
    return 0
