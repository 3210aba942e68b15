"""Colour, where it is wanted."""

from __future__ import annotations

import click

STATE_COLORS = {
    "passed": "green",
    "failed": "red",
    "stopped": "red",
    "refused": "red",
    "cancelled": "red",
    "tolerated": "yellow",
    "skipped": "yellow",
}


def painted(text: str, color: bool, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
    return click.style(text, fg=fg, bold=bold, dim=dim) if color else text
