"""`forum show`"""

from __future__ import annotations

import sys

import click

from forum_runner.commands.output import wants_color, write_document, write_parts


@click.command("show", short_help="Tell what happened in a run.")
@click.argument("run", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: str, as_json: bool) -> int:
    """Tell what happened in a run: tasks, attempts, what was spent, verdicts, gates, answers, and how it ended.

    RUN is a run directory, a ledger's file, `-` for standard input, or the id of a run in .forum/runs (its first eight
    characters or more).

    Everything is told from the ledger alone, also if it is damaged or has no seal. Whether the ledger holds is for
    `forum verify` to say.
    """
    from forum_runner.app.reading import decision_reasons, reasons, summarize

    summary = summarize(run)
    decided = decision_reasons(run, summary)
    if as_json:
        from forum_runner.report.summary_json import render_summary_json

        write_document(render_summary_json(summary, decided))
    else:
        from forum_runner.report.summary_text import render_summary

        why = reasons(run, summary)
        color = wants_color(sys.stdout)
        write_parts(f"{line}\n" for line in render_summary(summary, run, why, decided, color=color))
    return 0
