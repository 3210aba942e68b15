"""Terminal colors."""

from __future__ import annotations

# Each state has its own color. States that need attention come first: a display with little room drops the last ones.
STATE_COLORS = {
    "failed": "red",
    "stopped": "magenta",
    "refused": "bright_magenta",
    "cancelled": "blue",
    "tolerated": "yellow",
    "skipped": "cyan",
    "passed": "green",
}
_CODES = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36, "bright_magenta": 95}
_BOLD, _DIM = 1, 2


def painted(text: str, color: bool, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> str:
    """Adds escape sequences for a style to the text, if `color` is set."""
    codes = [_CODES[fg]] if fg else []
    codes += [_BOLD] * bold + [_DIM] * dim
    if not color or not codes:
        return text
    return "".join(f"\x1b[{code}m" for code in codes) + f"{text}\x1b[0m"
