"""Findings of the judge, and how many of them a report keeps."""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_KEPT = 100
# With only these findings a ledger is incomplete; with any other it is invalid.
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
    """Counts every finding and keeps the first hundred, to bound the memory for a million bad lines."""

    def __init__(self) -> None:
        self.kept: list[Finding] = []
        self.count = 0
        self._codes: set[str] = set()
        self._first_bad: dict[int, int] = {}

    def add(self, code: str, seq: int | None, sentence: str) -> None:
        self.take(Finding(code, seq, sentence))

    def take(self, finding: Finding) -> None:
        self.count += 1
        self._codes.add(finding.code)
        if finding.seq is not None:
            smallest = self._first_bad.get(finding.level, finding.seq)
            self._first_bad[finding.level] = min(smallest, finding.seq)
        if len(self.kept) < MAX_KEPT:
            self.kept.append(finding)

    def merge(self, others: "Findings") -> None:
        self.count += others.count - len(others.kept)
        self._codes |= others._codes
        for level, seq in others._first_bad.items():
            self._first_bad[level] = min(seq, self._first_bad.get(level, seq))
        for finding in others.kept:
            self.take(finding)

    def codes(self, level: int | None = None) -> list[str]:
        return sorted(code for code in self._codes if level is None or int(code[1]) == level)

    def first_bad_seq(self, level: int | None = None) -> int | None:
        return min(self._seqs(level), default=None)

    def _seqs(self, level: int | None) -> Iterator[int]:
        return (seq for of, seq in self._first_bad.items() if level is None or of == level)
