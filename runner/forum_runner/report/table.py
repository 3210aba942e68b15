"""Rows in columns, and lines under a title."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from forum_runner.report.paint import STATE_COLORS, painted

# A cell that is longer than this is not cut, but does not widen its column either.
_MAX_ALIGNED = 80


def table(rows: Sequence[Sequence[str]], right: Collection[int] = (), *, color: bool = False) -> list[str]:
    """The first row is the heading. Columns in `right` are aligned to the right; empty columns are left out."""
    columns = filled_columns(rows)
    widths = {index: min(_MAX_ALIGNED, max(len(row[index]) for row in rows)) for index in columns}
    lines = []
    for number, row in enumerate(rows):
        cells = []
        for index in columns:
            cell = row[index].rjust(widths[index]) if index in right else row[index].ljust(widths[index])
            # Colour comes after the width: its escape sequences take no room on the screen.
            cells.append(painted(cell, color, fg=STATE_COLORS.get(row[index]), dim=number == 0))
        lines.append("  ".join(cells).rstrip())
    return lines


def filled_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns that have a cell below the heading."""
    return [index for index in range(len(rows[0])) if any(row[index] for row in rows[1:])]


def listed(title: str, lines: Sequence[str], most: int) -> list[str]:
    """The title and the lines below it; nothing if there are no lines."""
    if not lines:
        return []
    more = [f"  and {len(lines) - most:,} more"] if len(lines) > most else []
    return [title, *(f"  {line}" for line in lines[:most]), *more]
