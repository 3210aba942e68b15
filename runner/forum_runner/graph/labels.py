"""Prepare text for drawings: replace unprintable characters and shorten to a width."""

import re

# Characters that XML forbids, that move a terminal's cursor, or that change the text direction.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_ELLIPSIS = "…"
# Wide scripts, and scripts that fixed-width fonts usually lack. The set is fixed because the interpreter's Unicode
# tables differ between Python versions, and drawings would differ with them.
_WIDE = re.compile("[\u0590-\u1fff\u2300-\U0010ffff]")


def printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)


def cells(text: str) -> int:
    """Return the width in a fixed-width font, in Latin letters. Uncertain widths are rounded up."""
    return len(text) if text.isascii() else len(text) + len(_WIDE.findall(text))


def shorten(text: str, max_cells: int) -> str:
    """Shorten a text in the middle, because matrix instances differ at the end of their ids."""
    if cells(text) <= max_cells:
        return text
    tail_cells = (max_cells - 1) // 2
    tail = _head(text[::-1], tail_cells)[::-1]
    return _head(text, max_cells - 1 - tail_cells) + _ELLIPSIS + tail


def _head(text: str, max_cells: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += cells(character)
        if used > max_cells:
            return text[:index]
    return text
