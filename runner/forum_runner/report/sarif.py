"""Findings as SARIF 2.1.0, which code-scanning services read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from forum_runner import __version__
from forum_runner.explanations import explanations
from forum_runner.finding import ManifestFinding

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render_sarif(findings: Iterable[ManifestFinding]) -> str:
    found = list(findings)
    titles = {code: explanation.title for code, explanation in explanations().items()}
    rules = [{"id": code, "shortDescription": {"text": titles[code]}} for code in sorted({f.code for f in found})]
    driver = {"name": "forum", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [_result(f) for f in found]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _result(finding: ManifestFinding) -> dict[str, Any]:
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
