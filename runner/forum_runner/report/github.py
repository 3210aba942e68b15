"""Findings as GitHub workflow commands, which annotate the lines of a pull request."""

from collections.abc import Iterable

from forum_runner.finding import ManifestFinding
from forum_runner.report import joined


def render_github(findings: Iterable[ManifestFinding]) -> str:
    return joined([_command(finding) for finding in findings])


def _command(finding: ManifestFinding) -> str:
    place = finding.place
    fields = {"file": place.file, "line": place.line, "endLine": place.end_line, "col": place.column}
    if place.end_line == place.line:
        fields["endColumn"] = place.end_column
    fields["title"] = f"forum {finding.code}"
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in fields.items())
    message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    return f"::{finding.severity} {listed}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
