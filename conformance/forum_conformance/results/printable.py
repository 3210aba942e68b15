"""Texts of programs, made fit for a screen and for XML."""


def printable(text: str) -> str:
    """One line: a program's text may hold what a terminal takes for an order, and what XML cannot hold."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def printable_lines(text: str) -> list[str]:
    return [printable(line) for line in text.rstrip("\n").split("\n")] if text.strip() else []
