"""Escape the output of programs for terminals and XML."""


def printable(text: str) -> str:
    """One line, without terminal escape sequences and characters that XML does not allow."""
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    """Use the notation of the Unicode standard: `\\x1b` could be literal text of a program in some language."""
    return f"<U+{ord(char):04X}>"


def printable_lines(text: str) -> list[str]:
    return [printable(line) for line in text.rstrip("\n").split("\n")] if text.strip() else []
