"""`forum log`"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from forum_runner.commands.output import as_found, has_reader, say_aside, wants_color, write_parts

if TYPE_CHECKING:
    from forum_runner.app.reading import Log, LogItem


@click.command("log", short_help="List the entries of a ledger.")
@click.argument("run", metavar="RUN")
@click.option("--kind", "kinds", multiple=True, metavar="GLOB", help="Entries of a kind, such as 'task.*'; repeatable.")
@click.option(
    "--task", "tasks", multiple=True, metavar="ID", help="Entries about a task and its instances; repeatable."
)
@click.option(
    "--actor", "actors", multiple=True, metavar="GLOB", help="Entries of an actor, such as 'person:*'; repeatable."
)
@click.option("--seq", "span", metavar="N|A..B", help="One entry, or all from A to B; either end may be left out.")
@click.option("--follow", "-f", is_flag=True, help="Wait for further entries, until the ledger is sealed.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines of the ledger, byte for byte.")
def command(
    run: str,
    kinds: tuple[str, ...],
    tasks: tuple[str, ...],
    actors: tuple[str, ...],
    span: str | None,
    follow: bool,
    as_json: bool,
) -> int:
    """List the entries of a ledger, one a line: seq, time (UTC), kind, task, actor, and what it tells.

    RUN is a run directory, a ledger's file, `-` for standard input, or the id of a run in .forum/runs (its first eight
    characters or more).

    Different options narrow the list down; one that is repeated widens it. Lines that are no entries are shown as such,
    unless an option leaves them out. Exits 2 if there is no such kind, or if no entry names the task.
    """
    from forum_runner.app.reading import open_log
    from forum_runner.ledger.selection import Selection, SeqSpan

    selection = Selection(kinds, tasks, actors, SeqSpan.read(span) if span is not None else None)
    log = open_log(run, selection)
    items = log.items_as_they_come(lambda: has_reader(sys.stdout)) if follow else log.items()
    is_live = follow or log.source.path is None
    write_parts(_raw(items) if as_json else _told(items, log), is_live=is_live)
    _say_what_is_wrong(log, run)
    log.check_tasks()
    return 0


def _told(items: Iterable[LogItem], log: Log) -> Iterator[str]:
    from forum_runner.ledger.lines import length_of
    from forum_runner.report.decision_reason import ReasonReader
    from forum_runner.report.log_line import damaged_line, log_line

    color = wants_color(sys.stdout)
    with ReasonReader(log.source.directory) as reasons:
        for item in items:
            if item.entry is None:
                yield damaged_line(item.number, length_of(item.line), color=color) + "\n"
            else:
                reason = reasons.of(item.entry)
                yield log_line(item.entry, color=color, is_import=log.is_import, reason=reason) + "\n"


def _raw(items: Iterable[LogItem]) -> Iterator[str | bytes]:
    from forum_runner.ledger.lines import LongLine

    for item in items:
        if isinstance(item.line, LongLine):
            say_aside(f"forum: seq {item.number:,} is left out: a line of {item.line.length:,} bytes")
        else:
            yield as_found(item.line)


def _say_what_is_wrong(log: Log, run: str) -> None:
    if log.unreadable:
        lines = "1 line is no entry" if log.unreadable == 1 else f"{log.unreadable:,} lines are no entries"
        say_aside(f"forum: {lines}, the first at seq {log.first_unreadable:,}; forum verify {run} tells more")
    if log.torn_bytes:
        say_aside(f"forum: {log.torn_bytes:,} bytes follow the last line: a torn tail, or a line that is being written")
