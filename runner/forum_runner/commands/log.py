"""The command `forum log`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from forum_runner.commands.event_loop import run_main
from forum_runner.commands.options import WORKSPACE
from forum_runner.commands.output import echo_err, has_reader, printable_line, wants_color, write_parts

if TYPE_CHECKING:
    from forum_runner.app.reading import Log, LogItem
    from forum_runner.report.recorded_text import TextReader


@click.command("log", short_help="List the entries of a ledger.")
@click.argument("run", metavar="RUN")
@click.option("--kind", "kinds", multiple=True, metavar="GLOB", help="Select a kind, such as 'task.*'. Repeatable.")
@click.option("--task", "tasks", multiple=True, metavar="ID", help="Select a task and its instances. Repeatable.")
@click.option(
    "--actor", "actors", multiple=True, metavar="GLOB", help="Select an actor, such as 'person:*'. Repeatable."
)
@click.option("--seq", "span", metavar="N|A..B", help="Select one entry, or a range whose ends are optional.")
@click.option("--follow", "-f", is_flag=True, help="Follow the ledger until it is sealed.")
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
    """List the entries of a ledger, one per line: seq, time (UTC), kind, task, actor and a description.

    RUN is a run directory, a ledger file, `-` for standard input, or the id of a run in .forum/runs (at least its first
    eight characters).

    Different options narrow the list; repeating an option widens it. Without --kind, --task, --actor and
    --seq, damaged lines are listed too. Exits 2 if a kind does not exist, or if no entry names a selected task.
    """
    from forum_runner import api
    from forum_runner.ledger.selection import Selection, SeqSpan
    from forum_runner.report.recorded_text import TextReader

    selection = Selection(kinds, tasks, actors, SeqSpan.parse(span) if span is not None else None)
    log = api.log(WORKSPACE, run, selection)
    with TextReader(log.source.directory) as texts:
        render = _raw if as_json else partial(_text, log, texts, wants_color(sys.stdout))
        if follow:
            run_main(_follow(log, render))
        else:
            write_parts(map(render, log.items()), is_live=log.source.path is None)
    _warn(log, run)
    log.check_tasks()
    return 0


async def _follow(log: Log, render: Callable[[LogItem], str | bytes]) -> None:
    async for item in log.follow(lambda: has_reader(sys.stdout)):
        if not write_parts([render(item)], is_live=True):
            return


def _text(log: Log, texts: TextReader, color: bool, item: LogItem) -> str:
    from forum_runner.ledger.lines import length_of
    from forum_runner.report.log_line import damaged_line, log_line

    if item.entry is None:
        return damaged_line(item.number, length_of(item.line), color=color) + "\n"
    return log_line(item.entry, color=color, is_import=log.is_import, reason=texts.reason_of(item.entry)) + "\n"


def _raw(item: LogItem) -> str | bytes:
    """The bytes of a line; nothing for a line that is too long."""
    from forum_runner.ledger.lines import LongLine

    if isinstance(item.line, LongLine):
        echo_err(f"forum: skipped line {item.number:,}: it has {item.line.length:,} bytes, too many for an entry")
        return b""
    return printable_line(item.line)


def _warn(log: Log, run: str) -> None:
    from forum_runner.manifest.units import counted

    if log.unreadable:
        lines = counted(log.unreadable, "damaged line")
        lines += ", the first" if log.unreadable > 1 else ""
        echo_err(f"forum: {lines} where entry {log.first_unreadable:,} should be; run forum verify {run}")
    if log.torn_bytes:
        tail = f"{counted(log.torn_bytes, 'byte')} after the last line"
        echo_err(f"forum: {tail}: a torn tail, or a line that is being written")
