"""Inclusion and consistency proofs (proof.schema.json): write, read and check them, without the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from forum_runner.canonical import canonical
from forum_runner.errors import ForumError
from forum_runner.finding import visible
from forum_runner.json_text import RepeatedKeyError, read_json_text
from forum_runner.ledger.checkpoint import (
    CHECKPOINT_TEXT,
    PIN,
    Checkpoint,
    MalformedCheckpointError,
    compare_checkpoint,
    open_checkpoint,
    read_checkpoint,
)
from forum_runner.ledger.layout import FORMAT, leaf_hash
from forum_runner.ledger.merkle_path import is_consistent, is_included
from forum_runner.ledger.note import Note, VerifierKey
from forum_runner.ledger.verification.bytes_level import read_object
from forum_runner.ledger.verification.report import LedgerFinding, Verdict, Violation, verdict_of
from forum_runner.manifest.schema_check import validator

_MAX_REASON = 200


class MalformedProofError(ForumError):
    """The bytes are not a proof, or the proof contradicts itself."""


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """Proves that `line` is entry `seq` of the ledger that the checkpoint describes."""

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
    """Proves that the ledger had `from_root` with `from_size` entries, and has only grown since."""

    checkpoint: Checkpoint
    from_size: int
    from_root: bytes
    path: tuple[bytes, ...]

    def claim(self) -> str:
        sizes = f"from {self.from_size} to {self.checkpoint.size} entries"
        return f"the ledger of run {self.checkpoint.run} only grew {sizes}"

    def is_valid(self) -> bool:
        return is_consistent(self.from_size, self.from_root, self.checkpoint.size, self.checkpoint.root, self.path)

    def roots(self) -> dict[int, bytes]:
        return {self.from_size: self.from_root, self.checkpoint.size: self.checkpoint.root}

    def members(self) -> dict[str, Any]:
        return {"proof": "consistency", "from_size": self.from_size, "from_root": self.from_root.hex()}


Proof = InclusionProof | ConsistencyProof


def serialize_proof(proof: Proof, note: Note) -> bytes:
    """The document in RFC 8785 form, and LF. `note` is the proof's checkpoint, signed or not."""
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
    """A proof that is consistent in itself, and its checkpoint as a note."""
    document = _parse(data)
    checkpoint, note = _checkpoint(document)
    path = tuple(bytes.fromhex(node) for node in document["path"])
    # JSON Schema accepts 3.0 as an integer.
    if document["proof"] == "inclusion":
        seq = int(document["seq"])
        _refuse_if(seq >= checkpoint.size, f"it proves entry {seq}, but its checkpoint has {checkpoint.size} entries")
        return InclusionProof(checkpoint, seq, _line(document), path), note
    from_size = int(document["from_size"])
    _refuse_if(from_size > checkpoint.size, f"its from_size is {from_size}, its size {checkpoint.size}")
    return ConsistencyProof(checkpoint, from_size, bytes.fromhex(document["from_root"]), path), note


def _refuse_if(is_wrong: bool, reason: str) -> None:
    if is_wrong:
        raise MalformedProofError(reason)


def _parse(data: bytes) -> dict[str, Any]:
    try:
        document: dict[str, Any] = orjson.loads(data)
        # orjson accepts duplicate keys.
        read_json_text(data.decode())
    except RepeatedKeyError as error:
        raise MalformedProofError(visible(f"duplicate key '{error.key[:_MAX_REASON]}'")) from error
    except (ValueError, RecursionError) as error:
        raise MalformedProofError(f"it is not JSON: {error}") from error
    for mismatch in validator("proof").iter_errors(document):
        place = "".join(f"/{step}" for step in mismatch.instance_path)
        reason = visible(f"{place or 'the document'}: {mismatch.message}")
        raise MalformedProofError(f"it does not match its schema: {reason[:_MAX_REASON]}")
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
    # In Python, True equals 1.
    is_other = isinstance(seq, bool) or (run, seq) != (document["run"], document["seq"])
    _refuse_if(is_other, "its run or seq differs from its entry")
    return line


@dataclass(frozen=True, slots=True)
class ProofReport:
    """`proof` is None if the document is malformed."""

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
    """Checks a proof. `checkpoint` and `pin` must agree with it. `key` must have signed the checkpoint."""
    try:
        proof, note = read_proof(data)
    except MalformedProofError as error:
        return ProofReport(None, (LedgerFinding("L601", None, f"the proof is malformed: {error}"),))
    findings = []
    if not proof.is_valid():
        findings.append(LedgerFinding("L602", None, f"the path does not prove that {proof.claim()}"))
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
        else:
            yield from _compared(proof, opened, CHECKPOINT_TEXT)
    if pin is not None:
        yield from _compared(proof, pin, PIN)


def _compared(proof: Proof, other: Checkpoint, what: str) -> Iterator[LedgerFinding]:
    own, roots = proof.checkpoint, proof.roots()
    found = compare_checkpoint(other, own.run, own.size, roots.get(other.size), what)
    if found is not None and found.code != "L507" and other.size not in roots:
        sizes = " and ".join(str(size) for size in roots)
        found = replace(found, sentence=f"the {what} has {other.size} entries; the proof has roots for {sizes} only")
    if found is not None:
        yield found
