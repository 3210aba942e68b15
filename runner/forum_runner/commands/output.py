"""Prints text for people and UTF-8 for programs. If the reader closes the stream early, the rest is discarded."""

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
    """Prepares both streams for any text: a closed stream discards it, and a limited encoding escapes it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end
        stream: Any = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def echo(text: str, *, newline: bool = True, color: bool = False) -> None:
    """Prints text for people on standard output."""
    try:
        click.echo(text, nl=newline, color=color)
    except BrokenPipeError:
        discard(sys.stdout)


def echo_err(text: str, *, newline: bool = True, color: bool = False) -> None:
    """Prints text for people on standard error. If that fails, only the exit code is left."""
    try:
        click.echo(text, err=True, nl=newline, color=color)
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def write_document(data: str | bytes) -> None:
    """Prints a document for programs on standard output, in UTF-8 regardless of the locale."""
    write_parts([data.encode() if isinstance(data, str) else data])


def write_json(document: Any) -> None:
    """Prints JSON. Escapes non-ASCII characters, because a terminal may display them."""
    import json

    write_document(json.dumps(document, indent=2) + "\n")


def write_parts(parts: Iterable[str | bytes], *, is_live: bool = False) -> bool:
    """Writes parts, and flushes each one if the output is live. Returns False if the reader closed the stream.

    Strings are for people, in the encoding of the locale. Bytes are written unchanged.
    """
    try:
        sys.stdout.flush()
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


def printable_line(line: bytes) -> str | bytes:
    """A line of a ledger, byte for byte; on a terminal, without control characters."""
    from forum_runner.finding import visible

    return visible(line.decode(errors="replace")) + "\n" if sys.stdout.isatty() else line + b"\n"


def has_reader(stream: TextIO) -> bool:
    """Whether the reader of a stream still has it open. Does not write to the stream."""
    poll = select.poll()
    poll.register(stream.fileno(), 0)
    return not poll.poll(0)


def show_findings(report: Report) -> None:
    """Prints findings on standard error, for commands that print something else on standard output."""
    from forum_runner.report.finding_formats import render_text

    color = wants_color(sys.stderr)
    echo_err(render_text(report, color=color), newline=False, color=color)


def warn_if_unsealed(*, is_sealed: bool) -> None:
    if not is_sealed:
        echo_err("forum: the ledger is not sealed: it may still grow, or its end may be missing")


def wants_color(stream: TextIO) -> bool:
    """Whether to print colors: on a terminal that has them, unless NO_COLOR is set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def discard(stream: TextIO) -> None:
    """Discards the rest of the output, so that the command still ends with its own exit code."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)
