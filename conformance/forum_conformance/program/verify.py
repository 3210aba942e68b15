"""The role `verify`: the judge's verdict on a ledger."""

from pathlib import Path

from forum_conformance.judge import ALL_LEVELS, NoLedger, OutsideEvidence, judge
from forum_conformance.note import MAX_BYTES, Checkpoint, MalformedCheckpoint, MalformedKey, PublicKey, read_public_key
from forum_conformance.pin import read_pin
from forum_conformance.program.answer import Answer, BadRequest, Request
from forum_conformance.report import Report

_MAX_FINDINGS_IN_MESSAGE = 5


def verify(request: Request) -> Answer:
    path, evidence = Path(request["input"]), evidence_of(request)
    levels = frozenset(request["levels"]) if "levels" in request else ALL_LEVELS
    if evidence.key and evidence.checkpoint is None and not (path / "checkpoint").exists():
        raise BadRequest("no checkpoint to verify with the key")
    try:
        return answer_of(judge(path, levels=levels, evidence=evidence))
    except NoLedger as error:
        raise BadRequest(str(error)) from error


def answer_of(report: Report) -> Answer:
    return Answer(
        report.verdict.value,
        tuple(report.findings.codes()),
        report.findings.first_bad_seq(),
        {str(level.number): level.status.value for level in report.levels},
        "; ".join(f"{finding.code}: {finding.sentence}" for finding in report.findings.items[:_MAX_FINDINGS_IN_MESSAGE])
        or None,
    )


def evidence_of(request: Request) -> OutsideEvidence:
    return OutsideEvidence(
        expected_head=request.get("expect_head"),
        checkpoint=read_limited(request["checkpoint"]) if "checkpoint" in request else None,
        key=read_key_file(request["key"]) if "key" in request else None,
        pin=read_pin_file(request["pin"]) if "pin" in request else None,
    )


def read_limited(path: str) -> bytes:
    """Read at most one byte more than a checkpoint may have: enough to see that it is too long."""
    with Path(path).open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def read_key_file(path: str) -> PublicKey:
    try:
        return read_public_key(read_limited(path).decode("utf-8"))
    except (UnicodeDecodeError, MalformedKey) as error:
        raise BadRequest(f"'{path}' is not a public key: {error}") from error


def read_pin_file(path: str) -> Checkpoint | None:
    try:
        return read_pin(Path(path))
    except MalformedCheckpoint as error:
        raise BadRequest(f"'{path}' is not a valid pin file: {error}") from error
