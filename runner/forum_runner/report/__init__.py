"""Reports: findings, verifications and runs as text, JSON, GitHub annotations and SARIF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from forum_runner.finding import ManifestFinding, errors_in


class ReportFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


@dataclass(frozen=True, slots=True)
class Report:
    """Findings in order, and the text of each file that they refer to, by its displayed name."""

    findings: tuple[ManifestFinding, ...]
    texts: Mapping[str, str]

    @property
    def errors(self) -> int:
        return len(errors_in(self.findings))

    @property
    def warnings(self) -> int:
        return len(self.findings) - self.errors


def counted(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def joined(parts: Sequence[str]) -> str:
    return "".join(f"{part}\n" for part in parts)
