"""Checks a proof, without the ledger: by itself, and against what the verifier was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from forum_runner.ledger.checkpoint import Checkpoint, compare_checkpoint, open_checkpoint
from forum_runner.ledger.note import VerifierKey
from forum_runner.ledger.pin import PIN_CODES, compare_pin
from forum_runner.ledger.proof import MalformedProofError, Proof, read_proof
from forum_runner.ledger.verification.report import LedgerFinding, Verdict, verdict_of


@dataclass(frozen=True, slots=True)
class ProofReport:
    """`proof` is None where the document is malformed."""

    proof: Proof | None
    findings: tuple[LedgerFinding, ...]

    @property
    def verdict(self) -> Verdict:
        return verdict_of(finding.code for finding in self.findings)


def check_proof(
    data: bytes,
    *,
    checkpoint: bytes | None = None,
    key: VerifierKey | None = None,
    pin: Checkpoint | None = None,
) -> ProofReport:
    """`checkpoint` and `pin` are to agree with the proof; `key` signed the checkpoint or, without one, the proof's."""
    try:
        proof, note = read_proof(data)
    except MalformedProofError as error:
        return ProofReport(None, (LedgerFinding("L601", None, f"the proof is malformed: {error}"),))
    findings = []
    if not proof.holds():
        findings.append(LedgerFinding("L602", None, f"the path does not show that {proof.claim()}"))
    if key is not None and checkpoint is None and not note.is_signed_by(key):
        findings.append(LedgerFinding("L510", None, f"the proof's checkpoint is not signed by the key '{key.name}'"))
    findings += _disagreements(proof, checkpoint, key, pin)
    return ProofReport(proof, tuple(findings))


def _disagreements(
    proof: Proof, given: bytes | None, key: VerifierKey | None, pin: Checkpoint | None
) -> Iterator[LedgerFinding]:
    if given is not None:
        opened = open_checkpoint(given, key)
        if isinstance(opened, LedgerFinding):
            yield opened
        elif found := compare_checkpoint(opened, *_known(proof, opened.size)):
            yield _told_of_a_proof(found, proof, opened)
    if pin is not None and (found := compare_pin(pin, *_known(proof, pin.size))):
        yield _told_of_a_proof(found, proof, pin)


def _known(proof: Proof, size: int) -> tuple[str, int, bytes | None]:
    """What a proof tells of its ledger: the run, the number of entries, and perhaps the root of the first `size`."""
    return proof.checkpoint.run, proof.checkpoint.size, proof.roots().get(size)


def _told_of_a_proof(found: LedgerFinding, proof: Proof, other: Checkpoint) -> LedgerFinding:
    if found.code == "L507" or other.size in proof.roots():
        return found
    sizes = " and ".join(str(size) for size in proof.roots())
    what = "pin" if found.code in PIN_CODES else "checkpoint"
    return replace(found, sentence=f"the {what} is of {other.size} entries, and the proof speaks of {sizes} only")
