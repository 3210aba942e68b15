"""Rows in columns, for a person."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from forum_runner.report.paint import STATE_COLORS, painted

# The longest name that a row shows: one that is longer than its column would move all that follows it.
_MAX_ALIGNED = 80


def table(rows: Sequence[Sequence[str]], right: Collection[int] = (), *, color: bool = False) -> list[str]:
    """The first row is the heading. Columns in `right` are aligned to the right; one that is empty is left out."""
    columns = [index for index in range(len(rows[0])) if any(row[index] for row in rows[1:])]
    widths = {index: min(_MAX_ALIGNED, max(len(row[index]) for row in rows)) for index in columns}
    lines = []
    for number, row in enumerate(rows):
        cells = []
        for index in columns:
            cell = row[index].rjust(widths[index]) if index in right else row[index].ljust(widths[index])
            # Colour comes after the width: its escape sequences take no room on the screen.
            cells.append(painted(cell, color, fg=STATE_COLORS.get(row[index]), dim=number == 0 or None))
        lines.append("  ".join(cells).rstrip())
    return lines
