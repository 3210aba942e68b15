"""Bars of colored cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

_FULL, _SHADED, _EMPTY = "\N{FULL BLOCK}", "\N{MEDIUM SHADE}", "\N{LIGHT SHADE}"
_ASCII = {_FULL: "#", _SHADED: "=", _EMPTY: "."}


def state_bar(counts: Mapping[str, int], styles: Mapping[str, str], total: int, width: int, *, is_ascii: bool) -> Text:
    """A bar with at least one cell for each state that occurs, so that one failure among thousands is visible."""
    states = [(state, counts[state]) for state in styles if counts.get(state)]
    cells = allocate_cells([number for _, number in states], total, width)
    bar = Text()
    for (state, _), number in zip(states, cells, strict=True):
        bar.append(_cell(_FULL, is_ascii) * number, styles[state])
    return bar.append(_cell(_EMPTY, is_ascii) * (width - sum(cells)), "dim")


def budget_bar(used: int, reserved: int, limit: int, width: int, *, is_ascii: bool) -> Text:
    cells = allocate_cells([used, reserved], max(limit, used + reserved), width)
    bar = Text(_cell(_FULL, is_ascii) * cells[0], "red" if used > limit else "green")
    bar.append(_cell(_SHADED, is_ascii) * cells[1], "yellow")
    return bar.append(_cell(_EMPTY, is_ascii) * (width - sum(cells)), "dim")


def allocate_cells(numbers: Sequence[int], total: int, width: int) -> list[int]:
    """Returns how many cells each number gets: in proportion, and at least one unless the number is 0.

    A bar looks full only if the numbers add up to the total.
    """
    scale = max(total, sum(numbers), 1)
    is_full = sum(numbers) == scale
    room = width if is_full else width - 1
    cells = [max(1, number * width // scale) if number else 0 for number in numbers]
    while sum(cells) > room and max(cells) > 1:
        cells[cells.index(max(cells))] -= 1
    if is_full:
        cells[cells.index(max(cells))] += max(0, room - sum(cells))
    return cells


def _cell(mark: str, is_ascii: bool) -> str:
    return _ASCII[mark] if is_ascii else mark
