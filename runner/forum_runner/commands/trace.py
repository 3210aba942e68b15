"""The command `forum trace`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from forum_runner.commands.options import WORKSPACE
from forum_runner.commands.output import echo_err, printable_line, wants_color, write_parts

if TYPE_CHECKING:
    from forum_runner.ledger.read_entry import ReadEntry


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
    from forum_runner.ledger.trace import Trace

    trace = Trace(seq)
    entries = api.trace(WORKSPACE, run, trace)
    write_parts((printable_line(line) for line, _ in entries) if as_json else _draw(entries, seq))
    # If the reader closed the stream early, causes that were not reached are not missing.
    if trace.missing and next(entries, None) is None:
        missing = ", ".join(f"{cause:,}" for cause in sorted(trace.missing)[:10])
        echo_err(f"forum: missing causes: {missing}; run forum verify {run}")
    return 0


def _draw(entries: Iterable[tuple[bytes, ReadEntry]], seq: int) -> Iterator[str]:
    from forum_runner.report.trace_text import CauseLanes

    lanes = CauseLanes(seq)
    color = wants_color(sys.stdout)
    for _, entry in entries:
        yield lanes.line(entry, color=color) + "\n"
