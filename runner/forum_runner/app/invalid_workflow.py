"""The error for a workflow that has findings."""

from __future__ import annotations

from forum_runner.errors import ForumError
from forum_runner.finding import errors_in, exit_code_of
from forum_runner.report import Report


class InvalidWorkflowError(ForumError):
    """The workflow has findings, so it cannot be run."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.exit_code = exit_code_of(report.findings)
        first = errors_in(report.findings)[0]
        super().__init__(f"{first.place.file}:{first.place.line}: {first.code} {first.message}")
