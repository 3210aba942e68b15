"""The error that a rule of level 4 raises for an entry. The first error ends the check of the level."""

from forum_conformance.entry import Entry


class Violation(Exception):
    """An entry that no run of the wave plan could have written at its position, or an invalid wave plan (L401)."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)


def require(is_satisfied: bool, code: str, sentence: str) -> None:
    if not is_satisfied:
        raise Violation(code, sentence)


def require_cause(entry: Entry, seq: int | None, description: str) -> None:
    """Check that the entry names the cause `seq`, if there is one."""
    if seq is not None and seq not in entry["causes"]:
        raise Violation("L426", f"causes does not include {seq}, {description}")
