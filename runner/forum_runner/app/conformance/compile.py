"""The role `compile`: a bundle as a wave plan, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forum_runner.app.conformance.request import Request
from forum_runner.app.conformance.sentences import with_message
from forum_runner.app.workflows import Inputs, compile_file
from forum_runner.finding import ManifestFinding, errors_in
from forum_runner.write_file import write_file


def compile_bundle(request: Request) -> dict[str, Any]:
    output = request.path("output")
    inputs = Inputs(file=request.optional_path("inputs"))
    compiled = compile_file(request.text("input"), request.optional_path("root"), inputs)
    told = findings_told(compiled.report.findings)
    if compiled.data is None or told["codes"]:
        return {"verdict": "invalid", **told}
    write_file(output, compiled.data)
    return {"verdict": "valid", **told}


def findings_told(findings: Iterable[ManifestFinding]) -> dict[str, Any]:
    """The codes of errors and of warnings, and the errors as sentences for whoever reads a failure."""
    found = tuple(findings)
    errors = errors_in(found)
    told = {
        "codes": sorted({finding.code for finding in errors}),
        "warnings": sorted({finding.code for finding in found if finding not in errors}),
    }
    places = (f"{item.place.file}:{item.place.line}: {item.code} {item.message}" for item in errors)
    return with_message(told, places)
