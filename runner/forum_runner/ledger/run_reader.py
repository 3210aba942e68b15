"""Reads the entries, the last seal, the workflow's name and the mode of a run directory, without verifying it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import orjson

from forum_runner.ledger.layout import LEDGER, MAX_LINE_BYTES, WAVE_PLAN
from forum_runner.ledger.lines import Lines
from forum_runner.ledger.read_entry import SEAL, ReadEntry, read_entry


def read_entries(directory: Path) -> Iterator[ReadEntry]:
    """The entries of a ledger. Lines that are not entries are skipped."""
    with (directory / LEDGER).open("rb") as stream:
        for line in Lines(stream):
            entry = read_entry(line)
            if entry is not None:
                yield entry


def ends_with_seal(directory: Path) -> bool:
    """Whether the last complete line is an entry of the kind `run.sealed`."""
    with (directory / LEDGER).open("rb") as stream:
        stream.seek(max(stream.seek(0, os.SEEK_END) - 2 * MAX_LINE_BYTES, 0))
        lines = stream.read().split(b"\n")
    last = read_entry(lines[-2]) if len(lines) > 1 else None
    return last is not None and last.kind == SEAL


def workflow_of(directory: Path) -> str | None:
    """The name of the workflow; None if it cannot be read."""
    try:
        document = orjson.loads((directory / WAVE_PLAN).read_bytes())
        return str(document["metadata"]["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def mode_of(directory: Path) -> str | None:
    """The mode in the first entry, such as `live` or `imported`; None if it cannot be read."""
    try:
        opened = next(read_entries(directory), None)
    except OSError:
        return None
    return None if opened is None else opened.data.get("mode")
