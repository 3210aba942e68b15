"""A case of the area `ledger`: the files, and the handwritten expectation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fake_ledger.files import Files, Record, directory_of

LEVELS = (1, 2, 3, 4, 5)
# The findings that make a ledger incomplete, not invalid.
INCOMPLETE = frozenset({"L310", "L501", "L502", "L503"})

Findings = tuple[tuple[str, int | None], ...]
"""The code and the seq of each finding."""


@dataclass(frozen=True, slots=True)
class Case:
    """One vector of the role `verify`: its files, and the findings that a verifier must report."""

    name: str
    title: str
    requirements: tuple[str, ...]
    level: int
    files: Files
    findings: Findings = ()
    not_checked: frozenset[int] = frozenset()
    """Levels that cannot be checked although levels 1 and 2 are valid."""
    request_members: Mapping[str, Any] = field(default_factory=dict)
    """Members of the request besides `input` and `levels`."""
    derived_from: str | None = None
    mutation: str | None = None

    @property
    def is_bare(self) -> bool:
        return "ledger.jsonl" in self.files

    @property
    def request(self) -> dict[str, Any]:
        """The request. For a bare ledger it omits levels 3 and 4: requesting them is a usage error."""
        levels = [level for level in LEVELS if not (self.is_bare and level in (3, 4))]
        return {"input": "ledger.jsonl" if self.is_bare else "run", "levels": levels, **self.request_members}

    def expected(self) -> dict[str, Any]:
        """The answer that follows from the findings (LEDGER-VERIFY-001 to 003)."""
        codes = sorted({code for code, _ in self.findings})
        return {
            "verdict": verdict_of(codes),
            "codes": codes,
            "first_bad_seq": first_seq(self.findings),
            "levels": {str(level): self._level(level) for level in LEVELS},
        }

    def _level(self, level: int) -> dict[str, Any]:
        findings = [finding for finding in self.findings if int(finding[0][1]) == level]
        codes = sorted({code for code, _ in findings})
        return {"status": self._status(level, codes), "codes": codes, "first_bad_seq": first_seq(findings)}

    def _status(self, level: int, codes: Sequence[str]) -> str:
        is_blocked = level > 2 and any(code[1] in "12" for code, _ in self.findings)
        if is_blocked or level in self.not_checked:
            return "not checked"
        if set(codes) - INCOMPLETE:
            return "fail"
        return "incomplete" if codes else "ok"


def verdict_of(codes: Sequence[str]) -> str:
    if set(codes) - INCOMPLETE:
        return "invalid"
    return "incomplete" if codes else "valid"


def first_seq(findings: Sequence[tuple[str, int | None]]) -> int | None:
    return min((seq for _, seq in findings if seq is not None), default=None)


@dataclass(frozen=True, slots=True)
class Base:
    """A valid ledger. `other_files` are the files of its run directory that do not follow from the record."""

    name: str
    title: str
    requirements: tuple[str, ...]
    record: Record
    other_files: Files = field(default_factory=dict)
    level: int = 4

    @property
    def not_checked(self) -> frozenset[int]:
        """The levels that cannot be checked: level 4 without a readable wave plan."""
        opened = self.record.entries[0] if self.record.entries else {"bodies": {}}
        plan = opened["bodies"].get("wave_plan")
        return frozenset() if plan and plan["digest"] not in self.record.redacted else frozenset({4})

    def files(self) -> Files:
        """The run directory."""
        return {**directory_of(self.record), **self.other_files}

    def case(self) -> Case:
        return Case(
            self.name, self.title, self.requirements, self.level, run_files(self.files()), not_checked=self.not_checked
        )


def run_files(files: Files) -> Files:
    """The files of a run directory, with their paths in a vector's directory."""
    return {f"run/{name}": content for name, content in files.items()}
