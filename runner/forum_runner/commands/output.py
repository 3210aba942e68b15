"""How commands print: text for people, UTF-8 for programs, and a reader of either may leave early."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from forum_runner.report import Report


def prepare_streams() -> None:
    """Makes both streams take whatever is printed: a closed one swallows it, a narrow encoding gets escapes."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end
        stream: Any = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, *, newline: bool = True, color: bool = False) -> None:
    """Text for a person, on standard output."""
    try:
        click.echo(text, nl=newline, color=color)
    except BrokenPipeError:
        discard(sys.stdout)


def say_aside(text: str, *, newline: bool = True, color: bool = False) -> None:
    """Text for a person, on standard error; where even that cannot be written, the exit code has to do."""
    try:
        click.echo(text, err=True, nl=newline, color=color)
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def write_document(data: str | bytes) -> None:
    """A document for a program, on standard output: UTF-8, whatever the terminal's encoding is."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data.encode() if isinstance(data, str) else data)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def write_json(form: Any) -> None:
    """A document as JSON. Everything beyond ASCII is escaped: it may end up on a terminal."""
    import json

    write_document(json.dumps(form, indent=2) + "\n")


def write_parts(parts: Iterable[str | bytes], *, is_live: bool = False) -> bool:
    """Writes parts, each at once if the output is live. Stops and returns False when the reader has left."""
    try:
        for part in parts:
            if isinstance(part, str):
                sys.stdout.write(part)
            else:
                sys.stdout.buffer.write(part)
            if is_live:
                sys.stdout.flush()
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
        return False
    return True


def as_found(line: bytes) -> str | bytes:
    """A line of a ledger, byte for byte; on a terminal, without what would steer it."""
    from forum_runner.finding import visible

    return visible(line.decode(errors="replace")) + "\n" if sys.stdout.isatty() else line + b"\n"


def has_reader(stream: TextIO) -> bool:
    """Whether what is written may still be read: a pipe whose other end is closed says so before one writes."""
    poll = select.poll()
    poll.register(stream.fileno(), 0)
    return not poll.poll(0)


def show_findings(report: Report) -> None:
    """Findings of a command whose output is something else go to standard error."""
    from forum_runner.report.finding_formats import render_text

    color = wants_color(sys.stderr)
    say_aside(render_text(report, color=color), newline=False, color=color)


def wants_color(stream: TextIO) -> bool:
    """Colour on a terminal, unless NO_COLOR asks for none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def discard(stream: TextIO) -> None:
    """Lets the rest of the output go nowhere, so that the command can still end with its own exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
