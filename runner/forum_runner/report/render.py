"""Renders findings in the format that was asked for; each renderer is imported only when it is needed."""

from __future__ import annotations

from forum_runner.report import Report, ReportFormat


def render(report: Report, form: ReportFormat, *, color: bool = False) -> str:
    match form:
        case ReportFormat.TEXT:
            from forum_runner.report.text import render_text

            return render_text(report, color=color)
        case ReportFormat.JSON:
            from forum_runner.report.check_report import render_json

            return render_json(report)
        case ReportFormat.GITHUB:
            from forum_runner.report.github import render_github

            return render_github(report.findings)
        case ReportFormat.SARIF:
            from forum_runner.report.sarif import render_sarif

            return render_sarif(report.findings)
