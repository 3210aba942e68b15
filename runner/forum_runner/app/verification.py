"""Verifies ledgers and proofs, and redacts bodies."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from forum_runner.app.proofs import read_bytes, read_pin, read_verifier_key
from forum_runner.app.requests import RedactionRequest, TrustedReferences, checked_person_name
from forum_runner.errors import UsageError
from forum_runner.ledger.checkpoint import PIN, Checkpoint, open_checkpoint
from forum_runner.ledger.layout import CHECKPOINT, OUTPUTS
from forum_runner.ledger.proof import ProofReport, check_proof
from forum_runner.ledger.recognition import has_ledger_name, run_directory
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.report import LedgerFinding, Level, UnwrittenPinError, Verdict, VerifyReport
from forum_runner.ledger.verification.seal_level import ExpectedCheckpoint
from forum_runner.ledger.verification.verifier import ALL_LEVELS, VerifyRequest, verify
from forum_runner.write_file import write_output

# Larger than any checkpoint or proof.
_MAX_FILE_BYTES = 1 << 20


def verify_ledger(source: LedgerSource, levels: frozenset[int] | None, trusted: TrustedReferences) -> VerifyReport:
    """Verifies a ledger at these levels, or at all that are possible."""
    if levels is not None:
        unknown = levels - ALL_LEVELS
        if unknown:
            raise UsageError(f"there is no level {min(map(repr, unknown))}; use levels from 1 to 5")
        unavailable = levels & {3, 4} if source.directory is None else None
        if unavailable:
            level = min(unavailable)
            raise UsageError(f"level {level} needs the run directory, but only its ledger was given ({source.name})")
        if 5 not in levels and trusted != TrustedReferences():
            raise UsageError("a head, checkpoint, key or pin is compared at level 5, which is not selected")
    # Higher levels have no meaning unless bytes and chain are valid.
    return verify(source, _request(source, trusted, (levels or ALL_LEVELS) | {1, 2}))


def verify_file(source: LedgerSource, levels: frozenset[int] | None, trusted: TrustedReferences) -> VerifyReport:
    """Verifies a file that may not be a ledger. Such a file is reported as not a ledger, not as incomplete."""
    report = verify_ledger(source, levels, trusted)
    if report.is_ledger or has_ledger_name(source):
        return replace(report, is_ledger=True)
    return report if report.entries else _as_one_line(report)


def _as_one_line(report: VerifyReport) -> VerifyReport:
    """The report for a file without a newline: its bytes count as one line that is not an entry."""
    reasons = {level.level: level.reason or "level 1 failed" for level in report.levels}
    levels = (Level(1, "fail", 0), Level(2, "ok"), *(Level(n, "not checked", reason=reasons[n]) for n in (3, 4, 5)))
    finding = LedgerFinding("L102", 0, "no line is an entry: the file has no newline")
    return replace(report, levels=levels, findings=(finding,), codes=(finding.code,), first_bad_seq=0)


def update_pin(path: Path, report: VerifyReport) -> None:
    """Stores a checkpoint of a valid ledger as the pin. A pin for an invalid ledger would protect nothing."""
    if report.verdict is Verdict.VALID and report.run and report.root:
        try:
            pin = Checkpoint(report.run, report.entries, bytes.fromhex(report.root))
            write_output(path, pin.note().encode())
        except UsageError as error:
            raise UnwrittenPinError(report, str(error)) from error


def _request(source: LedgerSource, trusted: TrustedReferences, levels: frozenset[int]) -> VerifyRequest:
    """The request to the verifier. The key is for the given checkpoint or else for the one in the run directory."""
    key = read_verifier_key(trusted.key) if trusted.key else None
    expected: list[ExpectedCheckpoint] = []
    faults: list[LedgerFinding] = []
    if trusted.checkpoint is not None:
        opened = open_checkpoint(read_bytes(trusted.checkpoint, _MAX_FILE_BYTES), key)
        if isinstance(opened, LedgerFinding):
            faults.append(opened)
        else:
            expected.append(ExpectedCheckpoint("given", opened, key.name if key else None))
    elif key is not None and (source.directory is None or not os.path.lexists(source.directory / CHECKPOINT)):
        raise UsageError(f"there is no checkpoint to verify with the key '{key.name}'; pass one with --checkpoint FILE")
    pin = read_pin(trusted.pin) if trusted.pin else None
    if pin is not None:
        expected.append(ExpectedCheckpoint(PIN, pin))
    directory_key = key if trusted.checkpoint is None else None
    return VerifyRequest(levels, expected, trusted.head, faults, key=directory_key)


def verify_proof(path: Path, trusted: TrustedReferences) -> ProofReport:
    key = read_verifier_key(trusted.key) if trusted.key else None
    checkpoint = read_bytes(trusted.checkpoint, _MAX_FILE_BYTES) if trusted.checkpoint else None
    pin = read_pin(trusted.pin) if trusted.pin else None
    if trusted.pin is not None and pin is None:
        raise UsageError(f"cannot compare the proof with the pin: there is no pin '{trusted.pin}'")
    return check_proof(read_bytes(path, _MAX_FILE_BYTES), checkpoint=checkpoint, key=key, pin=pin)


@dataclass(frozen=True, slots=True)
class RedactionResult:
    """A redaction. `seq` is the number of the entry that records it, and `head` the hash of the ledger's last line."""

    run: str
    directory: Path
    seq: int
    head: str
    is_sealed: bool


def redact_body(source: LedgerSource, request: RedactionRequest) -> RedactionResult:
    from forum_runner.app.open_run import open_run

    actor = f"person:{checked_person_name(request.by)}"
    directory = run_directory(source, "redacting needs the run directory")
    for folder in (directory, directory / OUTPUTS):
        if folder.exists() and not os.access(folder, os.W_OK):
            raise UsageError(f"cannot redact the body: '{folder}' is not writable")
    with open_run(directory) as ledger:
        recorded = ledger.redact(request.seq, request.body, request.reason, actor=actor)
        return RedactionResult(ledger.run, directory, recorded, ledger.head, ledger.is_sealed)
