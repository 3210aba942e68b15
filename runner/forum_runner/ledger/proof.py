"""Inclusion and consistency proofs (proof.schema.json): serializes, reads and checks them, without the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from forum_runner.canonical import canonical
from forum_runner.errors import ForumError
from forum_runner.finding import visible
from forum_runner.json_text import RepeatedKeyError, read_json_text
from forum_runner.ledger.checkpoint import (
    CHECKPOINT_LABEL,
    PIN,
    Checkpoint,
    MalformedCheckpointError,
    compare_checkpoint,
    open_checkpoint,
    read_checkpoint,
)
from forum_runner.ledger.entry_schema import schema_violation
from forum_runner.ledger.layout import FORMAT, leaf_hash
from forum_runner.ledger.merkle_path import is_consistent, is_included
from forum_runner.ledger.note import Note, VerifierKey
from forum_runner.ledger.verification.bytes_level import read_object
from forum_runner.ledger.verification.report import LedgerFinding, Verdict, Violation, verdict_of
from forum_runner.manifest.schema_check import validator

_MAX_REASON_LENGTH = 200


class MalformedProofError(ForumError):
    """The bytes are not a proof, or the proof contradicts itself."""


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """Proves that `line` is entry `seq` of the ledger that the checkpoint describes. `path` leads to the root."""

    checkpoint: Checkpoint
    seq: int
    line: bytes
    path: tuple[bytes, ...]

    def claim(self) -> str:
        size, run = self.checkpoint.size, self.checkpoint.run
        return f"the enclosed line is entry {self.seq} of run {run} (checkpoint of its first {size} entries)"

    def is_valid(self) -> bool:
        size, root = self.checkpoint.size, self.checkpoint.root
        return is_included(leaf_hash(self.line), self.seq, size, root, self.path)

    def roots(self) -> dict[int, bytes]:
        """The roots that the proof contains, by number of entries."""
        return {self.checkpoint.size: self.checkpoint.root}

    def members(self) -> dict[str, Any]:
        return {"proof": "inclusion", "seq": self.seq, "entry": self.line.decode()}


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """Proves that the ledger had the root `from_root` at `from_size` entries, and that later entries were appended."""

    checkpoint: Checkpoint
    from_size: int
    from_root: bytes
    path: tuple[bytes, ...]

    def claim(self) -> str:
        sizes = f"from {self.from_size} to {self.checkpoint.size} entries"
        return f"the ledger of run {self.checkpoint.run} grew {sizes} by appending only"

    def is_valid(self) -> bool:
        return is_consistent(self.from_size, self.from_root, self.checkpoint.size, self.checkpoint.root, self.path)

    def roots(self) -> dict[int, bytes]:
        return {self.from_size: self.from_root, self.checkpoint.size: self.checkpoint.root}

    def members(self) -> dict[str, Any]:
        return {"proof": "consistency", "from_size": self.from_size, "from_root": self.from_root.hex()}


Proof = InclusionProof | ConsistencyProof


def serialize_proof(proof: Proof, note: Note) -> bytes:
    """The document in RFC 8785 form, followed by LF. `note` is the proof's checkpoint, signed or not."""
    checkpoint = proof.checkpoint
    shared = {
        "format": FORMAT,
        "run": checkpoint.run,
        "size": checkpoint.size,
        "root": checkpoint.root.hex(),
        "path": [node.hex() for node in proof.path],
        "checkpoint": note.encode().decode(),
    }
    return canonical({**shared, **proof.members()}) + b"\n"


def read_proof(data: bytes) -> tuple[Proof, Note]:
    """Parses a proof. Returns it with its checkpoint as a note. Raises if its members contradict each other."""
    document = _parse(data)
    checkpoint, note = _checkpoint(document)
    path = tuple(bytes.fromhex(node) for node in document["path"])
    # JSON Schema accepts 3.0 as an integer, so integers are converted.
    if document["proof"] == "inclusion":
        seq = int(document["seq"])
        _refuse_if(seq >= checkpoint.size, f"its seq is {seq}, but the size of its checkpoint is {checkpoint.size}")
        return InclusionProof(checkpoint, seq, _line(document), path), note
    from_size = int(document["from_size"])
    _refuse_if(from_size > checkpoint.size, f"its from_size is {from_size}, larger than its size of {checkpoint.size}")
    return ConsistencyProof(checkpoint, from_size, bytes.fromhex(document["from_root"]), path), note


def _refuse_if(is_wrong: bool, reason: str) -> None:
    if is_wrong:
        raise MalformedProofError(reason)


def _parse(data: bytes) -> dict[str, Any]:
    try:
        document: dict[str, Any] = orjson.loads(data)
        # orjson accepts duplicate keys, so a second parser looks for them.
        read_json_text(data.decode())
    except RepeatedKeyError as error:
        raise MalformedProofError(visible(f"duplicate key '{error.key[:_MAX_REASON_LENGTH]}'")) from error
    except (ValueError, RecursionError) as error:
        raise MalformedProofError(f"it is not JSON: {error}") from error
    violation = schema_violation(validator("proof"), document)
    if violation is not None:
        raise MalformedProofError(f"it does not match its schema: {visible(violation)[:_MAX_REASON_LENGTH]}")
    return document


def _checkpoint(document: Mapping[str, Any]) -> tuple[Checkpoint, Note]:
    try:
        checkpoint, note = read_checkpoint(document["checkpoint"].encode())
    except MalformedCheckpointError as error:
        raise MalformedProofError(f"its checkpoint is malformed: {error}") from error
    stated = Checkpoint(document["run"], document["size"], bytes.fromhex(document["root"]))
    _refuse_if(checkpoint != stated, "its run, size or root differs from its checkpoint")
    return checkpoint, note


def _line(document: Mapping[str, Any]) -> bytes:
    line: bytes = document["entry"].encode()
    _refuse_if(b"\n" in line, "its entry has more than one line")
    try:
        entry, _ = read_object(line)
    except Violation as violation:
        raise MalformedProofError(f"its entry is malformed: {violation}") from violation
    run, seq = entry.get("run"), entry.get("seq")
    # A boolean is not a seq, although `True == 1`.
    is_different = isinstance(seq, bool) or (run, seq) != (document["run"], document["seq"])
    _refuse_if(is_different, "its run or seq differs from its entry")
    return line


@dataclass(frozen=True, slots=True)
class ProofReport:
    """The result of checking a proof. `proof` is None if the document is malformed.

    `is_vouched`: the proof is valid, and a trusted checkpoint, key or pin confirms its root.
    """

    proof: Proof | None
    findings: tuple[LedgerFinding, ...]
    is_vouched: bool = False

    @property
    def claim(self) -> str | None:
        """The claim of the proof, in words; None if the document is malformed."""
        return self.proof.claim() if self.proof is not None else None

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
    """Checks a proof, and that it agrees with `checkpoint` and `pin`, if they are given.

    `key` must have signed `checkpoint` or, without one, the checkpoint in the proof.
    """
    try:
        proof, note = read_proof(data)
    except MalformedProofError as error:
        return ProofReport(None, (LedgerFinding("L601", None, f"the proof is malformed: {error}"),))
    findings: list[LedgerFinding | None] = []
    if not proof.is_valid():
        findings.append(LedgerFinding("L602", None, f"the path does not prove that {proof.claim()}"))
    if key is not None and checkpoint is None and not note.is_signed_by(key):
        findings.append(LedgerFinding("L510", None, f"the proof's checkpoint is not signed by the key '{key.name}'"))
    if checkpoint is not None:
        opened = open_checkpoint(checkpoint, key)
        findings.append(opened if isinstance(opened, LedgerFinding) else _compare(proof, opened, CHECKPOINT_LABEL))
    if pin is not None:
        findings.append(_compare(proof, pin, PIN))
    found = tuple(filter(None, findings))
    has_reference = checkpoint is not None or key is not None or pin is not None
    return ProofReport(proof, found, is_vouched=has_reference and not found)


def _compare(proof: Proof, other: Checkpoint, label: str) -> LedgerFinding | None:
    checkpoint, roots = proof.checkpoint, proof.roots()
    finding = compare_checkpoint(other, checkpoint.run, checkpoint.size, roots.get(other.size), label)
    if finding is not None and finding.code != "L507" and other.size not in roots:
        sizes = " and ".join(str(size) for size in roots)
        return replace(finding, sentence=f"the {label}'s size is {other.size}; the proof has roots for {sizes} only")
    return finding
