"""The roles `canonicalize`, `compile`, `verify` and `prove`: from a request to the members of its answer."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from forum_runner import api
from forum_runner.canonical import canonical
from forum_runner.conformance.suite_request import WORKSPACE, SuiteRequest
from forum_runner.errors import CanonicalError, UsageError
from forum_runner.finding import ManifestFinding, errors_in
from forum_runner.json_text import read_json_text
from forum_runner.write_file import write_output

_LEVELS = (1, 2, 3, 4, 5)
_MAX_SENTENCES = 10


def canonicalize(request: SuiteRequest) -> dict[str, Any]:
    path = request.path("input")
    try:
        text = path.read_bytes().decode()
        data = canonical(read_json_text(text))
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    except (ValueError, RecursionError, CanonicalError) as error:
        return {"verdict": "invalid", "message": str(error)}
    write_output(request.path("output"), data)
    return {"verdict": "valid"}


def compile_bundle(request: SuiteRequest) -> dict[str, Any]:
    inputs = api.Inputs(file=request.optional_path("inputs"))
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
    return _with_message(codes, places)


def verify(request: SuiteRequest) -> dict[str, Any]:
    run = request.existing_path("input")
    # Bodies and semantics need the run directory.
    levels = frozenset(map(int, request.members.get("levels") or _LEVELS)) - (set() if run.is_dir() else {3, 4})
    trusted = _trusted(request) if 5 in levels else api.TrustedReferences()
    try:
        report = api.verify(WORKSPACE, str(run), levels=levels, trusted=trusted, is_ledger=True)
    except api.ForumError as error:
        return {"verdict": "unsupported", "message": str(error)}
    document = {
        "verdict": str(report.verdict),
        "codes": list(report.codes),
        "first_bad_seq": report.first_bad_seq,
        "levels": {str(item.level): item.status for item in report.levels},
    }
    return _with_message(document, (f"{item.code} {item.sentence}" for item in report.findings))


def prove(request: SuiteRequest) -> dict[str, Any]:
    """Creates a checkpoint or a proof, or checks a proof."""
    run, action = str(request.existing_path("input")), request.text("action")
    if action == "check":
        return _check_proof(request)
    size, out = request.number("size"), request.path("output")
    try:
        if action == "checkpoint":
            api.checkpoint(WORKSPACE, run, size=size, out=out)
        elif action == "inclusion":
            api.prove(WORKSPACE, run, seq=request.number("seq"), size=size, out=out)
        else:
            api.prove(WORKSPACE, run, from_size=request.number("from_size"), size=size, out=out)
    except api.ForumError as error:
        return {"verdict": "invalid", "message": str(error)}
    return {"verdict": "valid"}


def _check_proof(request: SuiteRequest) -> dict[str, Any]:
    try:
        report = api.verify_proof(WORKSPACE, request.path("input"), _trusted(request))
    except api.ForumError as error:
        return {"verdict": "unsupported", "message": str(error)}
    codes = sorted({finding.code for finding in report.findings})
    document = {"verdict": str(report.verdict), "codes": codes, "first_bad_seq": None}
    return _with_message(document, (f"{item.code} {item.sentence}" for item in report.findings))


def _trusted(request: SuiteRequest) -> api.TrustedReferences:
    paths = (request.optional_path(name) for name in ("checkpoint", "key", "pin"))
    return api.TrustedReferences(request.optional_text("expect_head"), *paths)


def _with_message(document: dict[str, Any], sentences: Iterable[str]) -> dict[str, Any]:
    """The answer with the first sentences as its message, if there are any."""
    message = "; ".join(islice(sentences, _MAX_SENTENCES))
    return {**document, "message": message} if message else document
