"""Findings of the judge. A report has at most `MAX_ITEMS` of them."""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_ITEMS = 100
# A ledger with only these findings is incomplete; with any other finding it is invalid.
INCOMPLETE_CODES = frozenset({"L310", "L501", "L502", "L503"})


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    seq: int | None
    sentence: str

    @property
    def level(self) -> int:
        return int(self.code[1])


class Findings:
    """Counts all findings, but keeps only the first ones: a ledger may have a million bad lines."""

    def __init__(self) -> None:
        self.items: list[Finding] = []
        """The first findings."""
        self.count = 0
        """The number of all findings."""
        self._codes: set[str] = set()
        self._first_bad: dict[int, int] = {}

    def add(self, code: str, seq: int | None, sentence: str) -> None:
        self.add_finding(Finding(code, seq, sentence))

    def add_finding(self, finding: Finding) -> None:
        self.count += 1
        self._codes.add(finding.code)
        if finding.seq is not None:
            first = self._first_bad.get(finding.level, finding.seq)
            self._first_bad[finding.level] = min(first, finding.seq)
        if len(self.items) < MAX_ITEMS:
            self.items.append(finding)

    def merge(self, others: "Findings") -> None:
        self.count += others.count - len(others.items)
        self._codes |= others._codes
        for level, seq in others._first_bad.items():
            self._first_bad[level] = min(seq, self._first_bad.get(level, seq))
        for finding in others.items:
            self.add_finding(finding)

    def codes(self, level: int | None = None) -> list[str]:
        return sorted(code for code in self._codes if level is None or int(code[1]) == level)

    def first_bad_seq(self, level: int | None = None) -> int | None:
        """The lowest seq of the findings, or of those of one level; None if no finding has a seq."""
        return min(self._seqs(level), default=None)

    def _seqs(self, level: int | None) -> Iterator[int]:
        return (seq for own_level, seq in self._first_bad.items() if level is None or own_level == level)
