"""The command `forum trace`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from forum_runner.commands.options import WORKSPACE
from forum_runner.commands.output import echo_err, printable_line, wants_color, write_parts

_MAX_MISSING = 10


@click.command("trace", short_help="Show the causes of an entry.")
@click.argument("run", metavar="RUN")
@click.argument("seq", type=click.IntRange(min=0), metavar="SEQ")
@click.option("--json", "as_json", is_flag=True, help="Print the lines of the ledger, byte for byte.")
def command(run: str, seq: int, as_json: bool) -> int:
    """Show why something happened: the entry SEQ, its causes, their causes, and so on, latest first.

    RUN is a run directory, a ledger file, `-` for standard input, or the id of a run in .forum/runs (at least its first
    eight characters).

    Each entry is listed once; a line on the left leads down to its cause. An entry with several causes names them.
    """
    from forum_runner import api
    from forum_runner.report.trace_text import CauseLanes

    lanes, color = CauseLanes(seq), wants_color(sys.stdout)
    missing: list[str] = []

    def parts() -> Iterator[str | bytes]:
        for item in api.trace(WORKSPACE, run, seq):
            if item.entry is None:
                missing.append(f"{item.seq:,}")
            else:
                yield printable_line(item.line) if as_json else lanes.line(item.entry, color=color) + "\n"

    write_parts(parts())
    if missing:
        listed = ", ".join(missing[:_MAX_MISSING]) + (", ..." if len(missing) > _MAX_MISSING else "")
        echo_err(f"forum: missing causes: {listed}; run forum verify {run}")
    return 0
