"""The role `prove`: creates and checks checkpoints and proofs."""

from __future__ import annotations

from typing import Any

from forum_runner import api
from forum_runner.api import ForumError, Trusted
from forum_runner.conformance.answer_message import with_message
from forum_runner.conformance.suite_request import WORKSPACE, SuiteRequest


def prove(request: SuiteRequest) -> dict[str, Any]:
    source = request.existing_path("input")
    if request.action == "check":
        return _check(request)
    run, size, out = str(source), request.number("size"), request.path("output")
    try:
        if request.action == "checkpoint":
            api.checkpoint(WORKSPACE, run, size=size, out=out)
        elif request.action == "inclusion":
            api.prove(WORKSPACE, run, seq=request.number("seq"), size=size, out=out)
        else:
            api.prove(WORKSPACE, run, from_size=request.number("from_size"), size=size, out=out)
    except ForumError as error:
        return {"verdict": "invalid", "message": str(error)}
    return {"verdict": "valid"}


def _check(request: SuiteRequest) -> dict[str, Any]:
    paths = (request.optional_path(name) for name in ("checkpoint", "key", "pin"))
    try:
        report = api.verify_proof(WORKSPACE, request.path("input"), Trusted(None, *paths))
    except ForumError as error:
        return {"verdict": "unsupported", "message": str(error)}
    document = {
        "verdict": str(report.verdict),
        "codes": sorted({finding.code for finding in report.findings}),
        "first_bad_seq": None,
    }
    return with_message(document, (f"{item.code} {item.sentence}" for item in report.findings))
