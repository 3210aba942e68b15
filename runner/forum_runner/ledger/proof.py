"""Proofs as documents (proof.schema.json): what they claim, whether it follows, and their form on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from forum_runner.canonical import canonical
from forum_runner.errors import ForumError
from forum_runner.finding import visible
from forum_runner.json_text import RepeatedKeyError, read_json_text
from forum_runner.ledger.checkpoint import Checkpoint, MalformedCheckpointError, read_checkpoint
from forum_runner.ledger.layout import FORMAT, leaf_hash
from forum_runner.ledger.merkle_path import is_consistent, is_included
from forum_runner.ledger.note import Note
from forum_runner.ledger.verification.bytes_level import read_object
from forum_runner.ledger.verification.report import Violation
from forum_runner.manifest.schema_check import validator

_MAX_REASON = 200


class MalformedProofError(ForumError):
    """Bytes that are not a proof, or a proof that contradicts itself."""


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """That `line` is the entry `seq` of the ledger that the checkpoint is of."""

    checkpoint: Checkpoint
    seq: int
    line: bytes
    path: tuple[bytes, ...]

    def claim(self) -> str:
        return f"entry {self.seq} is among the first {self.checkpoint.size} of the run {self.checkpoint.run}"

    def holds(self) -> bool:
        size, root = self.checkpoint.size, self.checkpoint.root
        return is_included(leaf_hash(self.line), self.seq, size, root, self.path)

    def roots(self) -> dict[int, bytes]:
        """The roots that the proof speaks of, by the number of entries."""
        return {self.checkpoint.size: self.checkpoint.root}

    def members(self) -> dict[str, Any]:
        return {"proof": "inclusion", "seq": self.seq, "entry": self.line.decode()}


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """That the ledger had `from_root` when it had `from_size` entries, and has only grown since."""

    checkpoint: Checkpoint
    from_size: int
    from_root: bytes
    path: tuple[bytes, ...]

    def claim(self) -> str:
        sizes = f"from {self.from_size} to {self.checkpoint.size} entries"
        return f"the ledger of the run {self.checkpoint.run} only grew {sizes}"

    def holds(self) -> bool:
        return is_consistent(self.from_size, self.from_root, self.checkpoint.size, self.checkpoint.root, self.path)

    def roots(self) -> dict[int, bytes]:
        return {self.from_size: self.from_root, self.checkpoint.size: self.checkpoint.root}

    def members(self) -> dict[str, Any]:
        return {"proof": "consistency", "from_size": self.from_size, "from_root": self.from_root.hex()}


Proof = InclusionProof | ConsistencyProof


def write_proof(proof: Proof, note: Note) -> bytes:
    """The document: RFC 8785 and LF. `note` is the proof's checkpoint, signed or not."""
    checkpoint = proof.checkpoint
    shared = {
        "format": FORMAT,
        "run": checkpoint.run,
        "size": checkpoint.size,
        "root": checkpoint.root.hex(),
        "path": [node.hex() for node in proof.path],
        "checkpoint": note.write().decode(),
    }
    return canonical({**shared, **proof.members()}) + b"\n"


def read_proof(data: bytes) -> tuple[Proof, Note]:
    """A proof whose members agree with each other and with its checkpoint, and that checkpoint as a note."""
    document = _fitting(data)
    checkpoint, note = _checkpoint(document)
    path = tuple(bytes.fromhex(node) for node in document["path"])
    # A schema takes 3.0 for an integer.
    if document["proof"] == "inclusion":
        seq = int(document["seq"])
        _refuse_if(seq >= checkpoint.size, f"it is of entry {seq}, and its checkpoint of {checkpoint.size} entries")
        return InclusionProof(checkpoint, seq, _line(document), path), note
    from_size = int(document["from_size"])
    _refuse_if(from_size > checkpoint.size, f"it leads from {from_size} entries to {checkpoint.size}")
    return ConsistencyProof(checkpoint, from_size, bytes.fromhex(document["from_root"]), path), note


def _refuse_if(is_wrong: bool, reason: str) -> None:
    if is_wrong:
        raise MalformedProofError(reason)


def _fitting(data: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(data)
        # orjson takes the last of several values, and says nothing.
        read_json_text(data.decode())
    except RepeatedKeyError as error:
        raise MalformedProofError(visible(f"the key '{error.key[:_MAX_REASON]}' is given twice")) from error
    except (ValueError, RecursionError) as error:
        raise MalformedProofError(f"it is not JSON: {error}") from error
    for departure in validator("proof").iter_errors(document):
        place = "".join(f"/{step}" for step in departure.instance_path)
        reason = visible(f"{place or 'the document'}: {departure.message}")
        raise MalformedProofError(f"it does not fit its schema: {reason[:_MAX_REASON]}")
    fitting: dict[str, Any] = document
    return fitting


def _checkpoint(document: Mapping[str, Any]) -> tuple[Checkpoint, Note]:
    try:
        checkpoint, note = read_checkpoint(document["checkpoint"].encode())
    except MalformedCheckpointError as error:
        raise MalformedProofError(f"its checkpoint is malformed: {error}") from error
    told = Checkpoint(document["run"], document["size"], bytes.fromhex(document["root"]))
    _refuse_if(checkpoint != told, "its run, size or root is not that of its checkpoint")
    return checkpoint, note


def _line(document: Mapping[str, Any]) -> bytes:
    line: bytes = document["entry"].encode()
    _refuse_if(b"\n" in line, "its entry is more than a line")
    try:
        entry, _ = read_object(line)
    except Violation as violation:
        raise MalformedProofError(f"its entry is malformed: {violation}") from violation
    run, seq = entry.get("run"), entry.get("seq")
    # To Python, true is 1.
    is_other = isinstance(seq, bool) or (run, seq) != (document["run"], document["seq"])
    _refuse_if(is_other, "its run or seq is not that of its entry")
    return line
