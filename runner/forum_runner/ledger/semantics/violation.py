"""What ends a replay."""


class Violation(Exception):
    """An entry that no lawful run of the plan could hold, with the code of its finding."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)
