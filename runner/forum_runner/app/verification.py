"""The application's functions that verify a ledger or a proof, and that redact a body."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from forum_runner.app.proofs import read_pin, read_verifier_key, write_pin
from forum_runner.app.requests import RedactionRequest, Trusted, person_name
from forum_runner.errors import UsageError
from forum_runner.ledger.checkpoint import Checkpoint, open_checkpoint
from forum_runner.ledger.layout import CHECKPOINT, OUTPUTS
from forum_runner.ledger.recognition import is_called_a_ledger, run_directory
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.report import LedgerFinding, Level, Verdict, VerifyReport
from forum_runner.ledger.verification.seal_level import PIN, Expected
from forum_runner.ledger.verification.verifier import ALL_LEVELS, VerifyRequest, verify

_MAX_FILE_BYTES = 1 << 20


def verify_ledger(source: LedgerSource, levels: frozenset[int] | None, trusted: Trusted) -> VerifyReport:
    """Verifies the levels that are asked for, or all that can be."""
    if levels is not None:
        _refuse_what_cannot_be_checked(source, levels)
        if 5 not in levels and trusted != Trusted():
            raise UsageError("a head, checkpoint, key or pin is compared by level 5, which is not asked for")
    # The higher levels say nothing of a ledger whose lines and chain were not looked at.
    request = _request(source, trusted, (levels or ALL_LEVELS) | {1, 2})
    return verify(source, request)


def verify_given(source: LedgerSource, levels: frozenset[int] | None, trusted: Trusted) -> VerifyReport:
    """As `verify_ledger`, of something that may be no ledger at all, and is then not called an incomplete one."""
    report = verify_ledger(source, levels, trusted)
    if report.is_ledger or is_called_a_ledger(source):
        return replace(report, is_ledger=True)
    return report if report.entries else _as_one_line(report)


def _as_one_line(report: VerifyReport) -> VerifyReport:
    """What is said of bytes without a line end, if they are taken for a line, which is no entry."""
    reasons = {level.level: level.reason or "level 1 does not hold" for level in report.levels}
    levels = (Level(1, "fail", 0), Level(2, "ok"), *(Level(n, "not checked", reason=reasons[n]) for n in (3, 4, 5)))
    finding = LedgerFinding("L102", 0, "no line is an entry: there is no line end")
    return replace(report, levels=levels, findings=(finding,), codes=(finding.code,), first_bad_seq=0)


def keep_pin(path: Path, report: VerifyReport) -> None:
    """Keeps the head of a ledger that is valid; any other leaves the pin alone."""
    if report.verdict is Verdict.VALID and report.run and report.root:
        write_pin(path, Checkpoint(report.run, report.entries, bytes.fromhex(report.root)))


def _refuse_what_cannot_be_checked(source: LedgerSource, levels: frozenset[int]) -> None:
    unavailable = sorted(levels & {3, 4}) if source.directory is None else []
    if unavailable:
        raise UsageError(f"level {unavailable[0]} needs the run directory, and '{source.name}' is none")


def _request(source: LedgerSource, trusted: Trusted, levels: frozenset[int]) -> VerifyRequest:
    """A key is for the checkpoint that was given or, without one, for that of the run directory."""
    key = read_verifier_key(trusted.key) if trusted.key else None
    expected: list[Expected] = []
    faults: list[LedgerFinding] = []
    if trusted.checkpoint is not None:
        opened = open_checkpoint(_read(trusted.checkpoint), key)
        if isinstance(opened, LedgerFinding):
            faults.append(opened)
        else:
            expected.append(Expected("given", opened, key.name if key else None))
    elif key is not None and (source.directory is None or not (source.directory / CHECKPOINT).exists()):
        raise UsageError(f"there is no checkpoint that the key '{key.name}' could have signed; give --checkpoint FILE")
    pin = read_pin(trusted.pin) if trusted.pin else None
    if pin is not None:
        expected.append(Expected(PIN, pin))
    own_key = key if trusted.checkpoint is None else None
    return VerifyRequest(levels, expected, trusted.head, faults, key=own_key)


def _read(path: Path) -> bytes:
    """At most a little more than a checkpoint or a proof may have; `-` is standard input."""
    try:
        with path.open("rb") if str(path) != "-" else open(0, "rb", closefd=False) as stream:
            return stream.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error


def verify_proof(path: Path, trusted: Trusted) -> VerifiedProof:
    from forum_runner.ledger.proof_check import check_proof

    key = read_verifier_key(trusted.key) if trusted.key else None
    checkpoint = _read(trusted.checkpoint) if trusted.checkpoint else None
    pin = read_pin(trusted.pin) if trusted.pin else None
    if trusted.pin is not None and pin is None:
        raise UsageError(f"there is no pin '{trusted.pin}' to hold the proof against")
    report = check_proof(_read(path), checkpoint=checkpoint, key=key, pin=pin)
    is_vouched = not report.findings and (key is not None or checkpoint is not None or pin is not None)
    claim = report.proof.claim() if report.proof is not None else None
    return VerifiedProof(report.verdict, claim, is_vouched, report.findings)


@dataclass(frozen=True, slots=True)
class VerifiedProof:
    """`is_vouched` tells whether anything from elsewhere stands behind the root that the proof leads to."""

    verdict: Verdict
    claim: str | None
    is_vouched: bool
    findings: tuple[LedgerFinding, ...]


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redaction: `seq` is the number of the entry that says so, `head` the hash of the last line after it."""

    run: str
    directory: Path
    seq: int
    head: str
    is_sealed: bool


def redact_body(source: LedgerSource, request: RedactionRequest) -> Redacted:
    """Redacts a body in a run directory."""
    from forum_runner.app.open_run import open_run

    actor = f"person:{person_name(request.by)}"
    directory = run_directory(source, "bodies are redacted in a run directory")
    for folder in (directory, directory / OUTPUTS):
        if folder.exists() and not os.access(folder, os.W_OK):
            raise UsageError(f"'{folder}' is not writable, so nothing can be redacted there")
    with open_run(directory) as ledger:
        recorded = ledger.redact(request.seq, request.body, request.reason, actor=actor)
        return Redacted(ledger.run, directory, recorded, ledger.head, ledger.is_sealed)
