"""The role `compile`: the wave plan of a bundle, or its findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forum_runner import api
from forum_runner.api import Inputs
from forum_runner.conformance.answer_message import with_message
from forum_runner.conformance.suite_request import WORKSPACE, SuiteRequest
from forum_runner.finding import ManifestFinding, errors_in


def compile_bundle(request: SuiteRequest) -> dict[str, Any]:
    inputs = Inputs(file=request.optional_path("inputs"))
    root, out = request.optional_path("root"), request.path("output")
    compiled = api.compile(WORKSPACE, request.text("input"), root=root, inputs=inputs, out=out)
    verdict = "invalid" if compiled.data is None else "valid"
    return {"verdict": verdict, **describe_findings(compiled.report.findings)}


def describe_findings(findings: Iterable[ManifestFinding]) -> dict[str, Any]:
    """The codes of errors and of warnings, and the errors as a message."""
    found = tuple(findings)
    errors = errors_in(found)
    codes = {
        "codes": sorted({finding.code for finding in errors}),
        "warnings": sorted({finding.code for finding in found if finding not in errors}),
    }
    places = (f"{item.place.file}:{item.place.line}: {item.code} {item.message}" for item in errors)
    return with_message(codes, places)
