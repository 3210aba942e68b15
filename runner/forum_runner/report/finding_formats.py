"""Findings in every format: text, JSON, GitHub workflow commands and SARIF."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from forum_runner import __version__
from forum_runner.document import lines_of
from forum_runner.explanations import explanations
from forum_runner.finding import ManifestFinding, Severity, visible
from forum_runner.manifest.units import counted
from forum_runner.report import Report, join_lines
from forum_runner.report.paint import painted

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_WIDTH = 100


def render_text(report: Report, *, color: bool = False) -> str:
    """Each finding with its location, message, line and a caret below the error, then the totals.

    Empty if there are no findings.
    """
    lines = {name: lines_of(text) for name, text in report.texts.items()}
    blocks = [_block(finding, lines.get(finding.place.file, []), color) for finding in report.findings]
    summary = f"{counted(report.errors, 'error')}, {counted(report.warnings, 'warning')}"
    return join_lines([*blocks, summary]) if blocks else ""


def _block(finding: ManifestFinding, lines: list[str], color: bool) -> str:
    place = finding.place
    is_warning = finding.severity is Severity.WARNING
    paint = "yellow" if is_warning else "red"
    label = f"warning {finding.code}" if is_warning else finding.code
    location = visible(f"{place.file}:{place.line}:{place.column}:")
    head = f"{painted(location, color, bold=True)} {painted(label, color, fg=paint)} {finding.message}"
    hint = finding.hint or ""
    if place.line > len(lines) or not lines[place.line - 1].strip():
        return f"{head}\n      = {hint}" if hint else head
    window, column, length = _window(lines[place.line - 1], finding)
    caret = painted("^" * length, color, fg=paint)
    caret_line = f"{' ' * column}{caret} {hint}".rstrip()
    return f"{head}\n{place.line:>5} | {window}\n      | {caret_line}"


def _window(line: str, finding: ManifestFinding) -> tuple[str, int, int]:
    """The displayed part of the line, and the caret's column and length in it."""
    start = min(finding.place.column - 1, len(line))
    end = finding.place.end_column - 1 if finding.place.end_line == finding.place.line else len(line)
    first = max(0, start - _WIDTH // 2) if len(line) > _WIDTH else 0
    window = visible(line[first : first + _WIDTH])
    prefix = "..." if first else ""
    suffix = "..." if first + _WIDTH < len(line) else ""
    column = len(prefix) + _width(visible(line[first:start]))
    length = max(1, _width(line[start : min(end, first + _WIDTH)]))
    return prefix + window + suffix, column, length


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _check_report(report: Report) -> dict[str, Any]:
    """A document that matches schemas/v1/check-report.schema.json."""
    return {
        "apiVersion": "forum/v1",
        "kind": "CheckReport",
        "ok": report.errors == 0,
        "errors": report.errors,
        "warnings": report.warnings,
        "files": sorted(report.texts),
        "findings": [finding_document(finding) for finding in report.findings],
    }


def finding_document(finding: ManifestFinding) -> dict[str, Any]:
    document = {"code": finding.code, "severity": str(finding.severity), **asdict(finding.place)}
    document["message"] = finding.message
    return document | {"hint": finding.hint} if finding.hint else document


def _github_command(finding: ManifestFinding) -> str:
    """A GitHub workflow command that annotates a line of a pull request."""
    place = finding.place
    fields = {"file": place.file, "line": place.line, "endLine": place.end_line, "col": place.column}
    if place.end_line == place.line:
        fields["endColumn"] = place.end_column
    fields["title"] = f"forum {finding.code}"
    properties = ",".join(f"{name}={_escaped_property(str(value))}" for name, value in fields.items())
    message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    return f"::{finding.severity} {properties}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _sarif_log(report: Report) -> dict[str, Any]:
    """A SARIF 2.1.0 log, the format of code-scanning services."""
    known_codes, codes = explanations(), sorted({finding.code for finding in report.findings})
    rules = [{"id": code, "shortDescription": {"text": known_codes[code].title}} for code in codes]
    driver = {"name": "forum", "version": __version__, "rules": rules}
    results = [_sarif_result(finding) for finding in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _sarif_result(finding: ManifestFinding) -> dict[str, Any]:
    place = finding.place
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    location = {"artifactLocation": {"uri": quote(place.file)}, "region": region}
    message = f"{finding.message}; {finding.hint}" if finding.hint else finding.message
    return {
        "ruleId": finding.code,
        "level": str(finding.severity),
        "message": {"text": message},
        "locations": [{"physicalLocation": location}],
    }


# By the values of `forum check --format`.
RENDERERS: dict[str, Callable[[Report], str]] = {
    "text": render_text,
    "json": lambda report: json.dumps(_check_report(report), indent=2) + "\n",
    "github": lambda report: join_lines([_github_command(finding) for finding in report.findings]),
    "sarif": lambda report: json.dumps(_sarif_log(report), indent=2, ensure_ascii=False) + "\n",
}
