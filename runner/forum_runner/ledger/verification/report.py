"""The result of a verification: findings, the status of each level, and one verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from forum_runner.errors import ExitCode, ForumError, UsageError
from forum_runner.ledger.layout import FORMAT

LEVELS = {1: "bytes", 2: "chain", 3: "bodies", 4: "semantics", 5: "seal"}
# The findings of a ledger whose run has not finished. They make it incomplete, not invalid.
UNFINISHED_CODES = frozenset({"L310", "L501", "L502", "L503"})
MAX_LISTED = 100


class Verdict(StrEnum):
    VALID = "valid"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"

    @property
    def exit_code(self) -> ExitCode:
        codes = {Verdict.VALID: ExitCode.OK, Verdict.INVALID: ExitCode.NOT_VERIFIED}
        return codes.get(self, ExitCode.INCOMPLETE)


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    """A problem in a ledger. `seq` is the number of the line, starting at 0; None if the problem is not in one line."""

    code: str
    seq: int | None
    sentence: str

    @property
    def level(self) -> int:
        return int(self.code[1])


class Violation(Exception):
    """A line, an entry or the wave plan breaks a rule. The finding has this `code` and message."""

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
    """Collects findings in order. `listed` has the first `MAX_LISTED` of them, and `more` is the number of the rest."""

    def __init__(self) -> None:
        self.listed: list[LedgerFinding] = []
        self.more = 0
        self.codes: set[str] = set()
        # The lowest seq of a finding, by level.
        self._first_bad: dict[int, int] = {}

    def add(self, code: str, seq: int | None, sentence: str) -> None:
        finding = LedgerFinding(code, seq, sentence)
        self.codes.add(code)
        if seq is not None:
            self._first_bad[finding.level] = min(seq, self._first_bad.get(finding.level, seq))
        if len(self.listed) < MAX_LISTED:
            self.listed.append(finding)
        else:
            self.more += 1

    def extend(self, other: LedgerFindings) -> None:
        """Adds all findings of `other`."""
        for finding in other.listed:
            self.add(finding.code, finding.seq, finding.sentence)
        self.codes |= other.codes
        self.more += other.more
        for level, seq in other._first_bad.items():
            self._first_bad[level] = min(seq, self._first_bad.get(level, seq))

    def has(self, level: int) -> bool:
        return any(int(code[1]) == level for code in self.codes)

    def first_bad_seq(self, level: int | None = None) -> int | None:
        """The lowest seq of the findings, or of those of one level; None if no finding has a seq."""
        seqs = self._first_bad.values() if level is None else [self._first_bad.get(level)]
        return min((seq for seq in seqs if seq is not None), default=None)


@dataclass(frozen=True, slots=True)
class Level:
    """The result of one level: `status` is 'ok', 'fail', 'incomplete' or 'not checked', the last with a `reason`."""

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
    """The result of a verification. Apart from `is_ledger`, its fields are the members of the document.

    `is_ledger` is False if the file does not look like a ledger.
    """

    run: str | None
    status: str | None
    entries: int
    head: str | None
    root: str | None
    redacted: int
    first_bad_seq: int | None
    codes: tuple[str, ...]
    levels: tuple[Level, ...]
    findings: tuple[LedgerFinding, ...]
    more_findings: int
    checkpoints: tuple[ComparedCheckpoint, ...] = ()
    is_ledger: bool = True

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.codes)

    def document(self) -> dict[str, Any]:
        """The report as verify-report.schema.json describes it."""
        document = {"format": FORMAT, "verdict": str(self.verdict), **asdict(self)}
        del document["is_ledger"]
        return document | {
            "codes": list(self.codes),
            "levels": [{"level": item.level, "name": item.name, **asdict(item)} for item in self.levels],
            "findings": [{"code": item.code, "level": item.level, **asdict(item)} for item in self.findings],
            "checkpoints": [asdict(item) for item in self.checkpoints],
        }


def verdict_of(codes: Iterable[str]) -> Verdict:
    """The verdict on a ledger or proof with findings of these codes."""
    distinct_codes = set(codes)
    if distinct_codes - UNFINISHED_CODES:
        return Verdict.INVALID
    return Verdict.INCOMPLETE if distinct_codes else Verdict.VALID


class UnwrittenPinError(UsageError):
    """The ledger was verified, but the pin cannot be written."""

    def __init__(self, report: VerifyReport, reason: str) -> None:
        self.report = report
        super().__init__(reason)
