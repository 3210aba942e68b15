"""What a check objects to: a code, a place, a sentence and, where possible, a hint."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from forum_runner.errors import ExitCode


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


WARNING_CODES = frozenset({"F106", "F303", "F311", "F315", "F506"})
REFUSAL_CODES = frozenset({"F501", "F502", "F503", "F504", "F505"})


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A stretch of a file; lines and columns count from 1, the end is the first column after it."""

    file: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    place: Place
    message: str
    hint: str | None = None

    @property
    def severity(self) -> Severity:
        return Severity.WARNING if self.code in WARNING_CODES else Severity.ERROR


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sorted by file, line, column and code, each finding once."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda f: (f.place.file, f.place.line, f.place.column, f.code, f.message)))


def errors_in(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(f for f in findings if f.severity is Severity.ERROR)


def exit_code_of(findings: Iterable[Finding]) -> ExitCode:
    """Warnings alone are no failure; a policy's refusal has a code of its own if nothing else is wrong."""
    errors = errors_in(findings)
    if not errors:
        return ExitCode.OK
    return ExitCode.REFUSED if all(f.code in REFUSAL_CODES for f in errors) else ExitCode.INVALID
