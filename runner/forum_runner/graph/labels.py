"""Text as a drawing may show it: without characters that would break it, and cut to a width."""

import re

# What XML cannot hold, what moves a terminal's cursor, and what turns the direction of the text around it.
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_ELLIPSIS = "…"
# Wide scripts, and those that fixed-width fonts leave to others. A fixed set and not the interpreter's Unicode tables:
# these change from version to version, and the drawing would change with them.
_WIDE = re.compile("[\u0590-\u1fff\u2300-\U0010ffff]")


def printable(text: str) -> str:
    return _UNSHOWABLE.sub("\ufffd", text)


def cells(text: str) -> int:
    """The width in a fixed-width font, in the width of a Latin letter; rather too much than too little."""
    return len(text) if text.isascii() else len(text) + len(_WIDE.findall(text))


def shorten(text: str, max_cells: int) -> str:
    """Cut in the middle: an id's end tells the instances of a matrix apart."""
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
