"""Formats tables, and lists with a title."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from forum_runner.report.paint import STATE_COLORS, painted

# A cell that is longer than this is not truncated, but does not widen its column either.
_MAX_ALIGNED = 80


def table(rows: Sequence[Sequence[str]], right: Collection[int] = (), *, color: bool = False) -> list[str]:
    """The lines of a table. The first row is the heading, columns in `right` are right-aligned, empty ones omitted."""
    columns = filled_columns(rows)
    widths = {index: min(_MAX_ALIGNED, max(len(row[index]) for row in rows)) for index in columns}
    lines = []
    for number, row in enumerate(rows):
        cells = []
        for index in columns:
            cell = row[index].rjust(widths[index]) if index in right else row[index].ljust(widths[index])
            # Pad first, then color: escape sequences take no room on the screen.
            cells.append(painted(cell, color, fg=STATE_COLORS.get(row[index]), dim=number == 0))
        lines.append("  ".join(cells).rstrip())
    return lines


def filled_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """The indexes of the columns that have a non-empty cell below the heading."""
    return [index for index in range(len(rows[0])) if any(row[index] for row in rows[1:])]


def titled_list(title: str, lines: Sequence[str], max_lines: int) -> list[str]:
    """The title, at most `max_lines` of the lines, and the number of omitted ones; nothing if there are no lines."""
    if not lines:
        return []
    more = [f"  and {len(lines) - max_lines:,} more"] if len(lines) > max_lines else []
    return [title, *(f"  {line}" for line in lines[:max_lines]), *more]
