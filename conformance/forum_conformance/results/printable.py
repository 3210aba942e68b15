"""Escape texts of programs for terminals and XML."""


def printable(text: str) -> str:
    """One line, without terminal escape sequences and characters that XML does not allow."""
    return "".join(char if char.isprintable() else _named(char) for char in text)


def _named(char: str) -> str:
    """In the notation of the Unicode standard: a language's escape could be mistaken for literal text."""
    return f"<U+{ord(char):04X}>"


def printable_lines(text: str) -> list[str]:
    return [printable(line) for line in text.rstrip("\n").split("\n")] if text.strip() else []
