"""The result of a verification: findings, the status of each level, and one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.ledger.layout import FORMAT

LEVELS = {1: "bytes", 2: "chain", 3: "bodies", 4: "semantics", 5: "seal"}
UNFINISHED = frozenset({"L310", "L501", "L502", "L503"})
MAX_LISTED = 100


class Verdict(StrEnum):
    VALID = "valid"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"

    @property
    def exit_code(self) -> ExitCode:
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Verdict.VALID: ExitCode.OK,
    Verdict.INVALID: ExitCode.NOT_VERIFIED,
    Verdict.INCOMPLETE: ExitCode.INCOMPLETE,
}


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    """`seq` is the number of the line, starting at 0; None if the finding is not about one line."""

    code: str
    seq: int | None
    sentence: str

    @property
    def level(self) -> int:
        return int(self.code[1])


class Violation(Exception):
    """A line or an entry breaks a rule. The finding has this `code` and message."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)

    def at(self, seq: int) -> LedgerFinding:
        return LedgerFinding(self.code, seq, str(self))


class DamagedLedgerError(ForumError):
    """The ledger is invalid, and the operation needs a valid one."""

    exit_code = ExitCode.NOT_VERIFIED

    def __init__(self, name: str, finding: LedgerFinding) -> None:
        self.finding = finding
        place = f" at entry {finding.seq}" if finding.seq is not None else ""
        super().__init__(f"the ledger in '{name}' is invalid{place}: {finding.code} {finding.sentence}")


class LedgerFindings:
    """Collects findings in order. After the first `MAX_LISTED` it only counts them."""

    def __init__(self) -> None:
        self.listed: list[LedgerFinding] = []
        self.more = 0
        self.codes: set[str] = set()
        self._first_bad: dict[int, int] = {}
        self._levels: set[int] = set()

    def add(self, code: str, seq: int | None, sentence: str) -> None:
        finding = LedgerFinding(code, seq, sentence)
        self.codes.add(code)
        self._levels.add(finding.level)
        if seq is not None:
            self._first_bad[finding.level] = min(seq, self._first_bad.get(finding.level, seq))
        if len(self.listed) < MAX_LISTED:
            self.listed.append(finding)
        else:
            self.more += 1

    def take(self, other: LedgerFindings) -> None:
        """Adds all findings of `other`."""
        for finding in other.listed:
            self.add(finding.code, finding.seq, finding.sentence)
        self.codes |= other.codes
        self.more += other.more
        self._levels |= other._levels
        for level, seq in other._first_bad.items():
            self._first_bad[level] = min(seq, self._first_bad.get(level, seq))

    def has(self, level: int) -> bool:
        return level in self._levels

    def first_bad_seq(self, level: int | None = None) -> int | None:
        found = self._first_bad.values() if level is None else [self._first_bad.get(level)]
        return min((seq for seq in found if seq is not None), default=None)


@dataclass(frozen=True, slots=True)
class Level:
    level: int
    status: str
    first_bad_seq: int | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        return LEVELS[self.level]


@dataclass(frozen=True, slots=True)
class ComparedCheckpoint:
    """A checkpoint that agrees with the ledger."""

    source: str
    size: int
    signed_by: str | None


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """`is_ledger` is False if no line looks like an entry. It is shown to people and not part of the document."""

    run: str | None
    status: str | None
    entries: int
    head: str | None
    root: str | None
    redacted: int
    levels: tuple[Level, ...]
    findings: tuple[LedgerFinding, ...]
    more_findings: int
    codes: tuple[str, ...]
    first_bad_seq: int | None
    checkpoints: tuple[ComparedCheckpoint, ...] = field(default=())
    is_ledger: bool = True

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.codes)

    def document(self) -> dict[str, Any]:
        """The report as verify-report.schema.json describes it."""
        return {
            "format": FORMAT,
            "verdict": str(self.verdict),
            "run": self.run,
            "status": self.status,
            "entries": self.entries,
            "head": self.head,
            "root": self.root,
            "redacted": self.redacted,
            "first_bad_seq": self.first_bad_seq,
            "codes": list(self.codes),
            "levels": [
                {"level": item.level, "name": item.name, "status": item.status}
                | {"first_bad_seq": item.first_bad_seq, "reason": item.reason}
                for item in self.levels
            ],
            "findings": [
                {"code": item.code, "level": item.level, "seq": item.seq, "sentence": item.sentence}
                for item in self.findings
            ],
            "more_findings": self.more_findings,
            "checkpoints": [
                {"source": item.source, "size": item.size, "signed_by": item.signed_by} for item in self.checkpoints
            ],
        }


def verdict_of(codes: Iterable[str]) -> Verdict:
    found = set(codes)
    if found - UNFINISHED:
        return Verdict.INVALID
    return Verdict.INCOMPLETE if found else Verdict.VALID


class UnwrittenPinError(UsageError):
    """The ledger was verified, but the pin cannot be written."""

    def __init__(self, report: VerifyReport, reason: str) -> None:
        self.report = report
        super().__init__(reason)
