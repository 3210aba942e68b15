"""Findings as JSON: the check report of schemas/v1/check-report.schema.json."""

from __future__ import annotations

import json
from typing import Any

from forum_runner.finding import ManifestFinding
from forum_runner.report import Report


def render_json(report: Report) -> str:
    document = {
        "apiVersion": "forum/v1",
        "kind": "CheckReport",
        "ok": report.errors == 0,
        "errors": report.errors,
        "warnings": report.warnings,
        "files": sorted(report.texts),
        "findings": [finding_document(finding) for finding in report.findings],
    }
    return json.dumps(document, indent=2) + "\n"


def finding_document(finding: ManifestFinding) -> dict[str, Any]:
    place = finding.place
    document = {
        "code": finding.code,
        "severity": str(finding.severity),
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "message": finding.message,
    }
    return document | {"hint": finding.hint} if finding.hint else document
