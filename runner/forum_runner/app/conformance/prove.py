"""The role `prove`: checkpoints and proofs, made and checked."""

from __future__ import annotations

from typing import Any

from forum_runner.app.conformance.request import Request
from forum_runner.app.conformance.sentences import with_message
from forum_runner.app.proofs import EmptyLedgerError, cover, prove_consistency, prove_inclusion
from forum_runner.app.verification import Trusted, verify_proof
from forum_runner.errors import ForumError, UsageError
from forum_runner.ledger.proof import write_proof
from forum_runner.ledger.source import LedgerSource, find_ledger
from forum_runner.ledger.verification.report import DamagedLedgerError
from forum_runner.write_file import write_file


def prove(request: Request) -> dict[str, Any]:
    if request.action == "check":
        return _check(request)
    source = find_ledger(request.text("input"))
    output = request.path("output")
    try:
        data = _document(request, source)
    except (UsageError, DamagedLedgerError, EmptyLedgerError) as error:
        return {"verdict": "invalid", "message": str(error)}
    write_file(output, data)
    return {"verdict": "valid"}


def _document(request: Request, source: LedgerSource) -> bytes:
    size = request.number("size")
    if request.action == "checkpoint":
        return cover(source, size).note(None).write()
    if request.action == "inclusion":
        proved = prove_inclusion(source, request.number("seq"), size)
    else:
        proved = prove_consistency(source, request.number("from_size"), size)
    return write_proof(proved.proof, proved.covered.note(None))


def _check(request: Request) -> dict[str, Any]:
    paths = (request.optional_path(name) for name in ("checkpoint", "key", "pin"))
    path = request.path("input")
    if not path.is_file():
        raise UsageError(f"there is no file '{path}'")
    try:
        report = verify_proof(path, Trusted(None, *paths))
    except ForumError as error:
        return {"verdict": "unsupported", "message": str(error)}
    told = {
        "verdict": str(report.verdict),
        "codes": sorted({finding.code for finding in report.findings}),
        "first_bad_seq": None,
    }
    return with_message(told, (f"{item.code} {item.sentence}" for item in report.findings))
