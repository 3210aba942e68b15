"""Findings: problems that a check reports, with a code, a place, a message and, if possible, a hint."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from forum_runner.errors import ExitCode


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


_MAX_LENGTH = 500
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
WARNING_CODES = frozenset({"F106", "F303", "F311", "F315", "F506"})
REFUSAL_CODES = frozenset({"F501", "F502", "F503", "F504", "F505"})


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A range in a file; lines and columns count from 1, and the end is exclusive."""

    file: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1


@dataclass(frozen=True, slots=True)
class ManifestFinding:
    """A problem in a manifest. Message and hint are one line each, even if they quote text from the manifest."""

    code: str
    place: Place
    message: str
    hint: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", _shorten(visible(self.message)))
        if self.hint is not None:
            object.__setattr__(self, "hint", _shorten(visible(self.hint)))

    @property
    def severity(self) -> Severity:
        return Severity.WARNING if self.code in WARNING_CODES else Severity.ERROR


def visible(text: str) -> str:
    """Replaces control characters, so that the text is safe to print on a terminal."""
    return _CONTROL.sub(lambda match: " " if match[0] == "\t" else "\N{REPLACEMENT CHARACTER}", text)


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 3] + "..."


def sort_findings(findings: Iterable[ManifestFinding]) -> tuple[ManifestFinding, ...]:
    """The findings sorted by file, line, column and code, without duplicates."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda f: (f.place.file, f.place.line, f.place.column, f.code, f.message)))


def errors_in(findings: Iterable[ManifestFinding]) -> tuple[ManifestFinding, ...]:
    return tuple(f for f in findings if f.severity is Severity.ERROR)


def exit_code_of(findings: Iterable[ManifestFinding]) -> ExitCode:
    """The exit code for these findings: OK if all are warnings, REFUSED if all errors are refusals of the policy."""
    errors = errors_in(findings)
    if not errors:
        return ExitCode.OK
    return ExitCode.REFUSED if all(f.code in REFUSAL_CODES for f in errors) else ExitCode.INVALID
