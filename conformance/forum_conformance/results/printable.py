"""Texts of programs, made fit for a screen and for XML."""


def printable(text: str) -> str:
    """One line: a program's text may hold what a terminal takes for an order, and what XML cannot hold."""
    return "".join(char if char.isprintable() else _named(char) for char in text)


def _named(char: str) -> str:
    """As the Unicode standard names it: an escape of one language would be taken for what stands there."""
    return f"<U+{ord(char):04X}>"


def printable_lines(text: str) -> list[str]:
    return [printable(line) for line in text.rstrip("\n").split("\n")] if text.strip() else []
