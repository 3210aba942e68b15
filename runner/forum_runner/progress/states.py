"""The colours of states while a run goes on. Each has its own, and its name always stands beside it."""

from __future__ import annotations

# What went wrong comes first: where room is short, it is the last to be cut.
STATE_COLORS = {
    "failed": "red",
    "stopped": "magenta",
    "refused": "bright_magenta",
    "cancelled": "blue",
    "tolerated": "yellow",
    "skipped": "cyan",
    "passed": "green",
}
