"""Reports: findings, verifications and runs as text, JSON, GitHub annotations and SARIF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forum_runner.errors import ForumError
from forum_runner.finding import ManifestFinding, errors_in, exit_code_of


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


class InvalidWorkflowError(ForumError):
    """The workflow has errors, so it cannot be run."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.exit_code = exit_code_of(report.findings)
        first = errors_in(report.findings)[0]
        super().__init__(f"{first.place.file}:{first.place.line}: {first.code} {first.message}")


def join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
