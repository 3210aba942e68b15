"""Check a proof: its form, its path, and the reader's own checkpoint, key and pin (LEDGER-PROOF-001)."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from forum_conformance import schemas
from forum_conformance.canonical import refuse_constant, reject_repeated_keys
from forum_conformance.entry import read_object
from forum_conformance.merkle import EMPTY_ROOT
from forum_conformance.note import Checkpoint, MalformedCheckpoint, PublicKey, read_checkpoint
from forum_conformance.program.answer import Answer, Request
from forum_conformance.program.merkle_path import WrongPath, consistency_roots, inclusion_root
from forum_conformance.program.verify import evidence_of

Proof: TypeAlias = dict[str, Any]


class MalformedProof(ValueError):
    """A proof that does not match its schema, or contradicts itself."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a proof about a run: the roots of the ledger at one or two sizes."""

    run: str
    roots: dict[int, bytes]

    @property
    def size(self) -> int:
        return max(self.roots)


def check(request: Request) -> Answer:
    evidence = evidence_of(request)
    try:
        proof = read_proof(Path(request["input"]).read_bytes())
        embedded = embedded_checkpoint(proof)
        require_agreement(proof, embedded)
    except MalformedProof as error:
        return Answer("invalid", ("L601",), message=str(error))
    codes = set(_evidence_codes(claims_of(proof), embedded, evidence.checkpoint, evidence.pin, evidence.key))
    if not leads_to_root(proof):
        codes.add("L602")
    return Answer("invalid" if codes else "valid", tuple(sorted(codes)))


def read_proof(data: bytes) -> Proof:
    try:
        proof = json.loads(data.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=reject_repeated_keys)
    except (ValueError, RecursionError) as error:
        raise MalformedProof(f"it is not JSON: {error}") from error
    mismatch = schemas.schema_mismatch(schemas.proof_validator(), proof)
    if mismatch:
        raise MalformedProof(f"it does not match its schema {mismatch}")
    # A schema accepts 7.0 as an integer.
    return {name: int(value) if isinstance(value, float) else value for name, value in proof.items()}


def embedded_checkpoint(proof: Proof) -> Checkpoint:
    try:
        return read_checkpoint(proof["checkpoint"].encode("utf-8"))
    except ValueError as error:
        raise MalformedProof(f"its checkpoint is malformed: {error}") from error


def require_agreement(proof: Proof, embedded: Checkpoint) -> None:
    if (embedded.run, embedded.size, embedded.root.hex()) != (proof["run"], proof["size"], proof["root"]):
        raise MalformedProof("its run, size or root differs from its checkpoint")
    if proof["proof"] == "inclusion":
        _require_entry(proof)
    elif proof["from_size"] > proof["size"]:
        raise MalformedProof(f"from_size is {proof['from_size']}, but size is only {proof['size']}")


def _require_entry(proof: Proof) -> None:
    if proof["seq"] >= proof["size"]:
        raise MalformedProof(f"entry {proof['seq']} is outside the checkpoint's {proof['size']} entries")
    if "\n" in proof["entry"]:
        raise MalformedProof("its entry is more than one line")
    try:
        entry, _ = read_object(proof["entry"].encode("utf-8"))
    except ValueError as error:
        raise MalformedProof(f"its entry is not one JSON object: {error}") from error
    run, seq = entry.get("run"), entry.get("seq")
    # In Python, True == 1.
    if isinstance(seq, bool) or (run, seq) != (proof["run"], proof["seq"]):
        raise MalformedProof("the run or seq of its entry differs from the proof")


def leads_to_root(proof: Proof) -> bool:
    """Whether the path leads to the root of the proof."""
    path = [bytes.fromhex(text) for text in proof["path"]]
    root = bytes.fromhex(proof["root"])
    try:
        if proof["proof"] == "inclusion":
            leaf = hashlib.sha256(b"\0" + proof["entry"].encode("utf-8")).digest()
            return inclusion_root(proof["seq"], proof["size"], leaf, path) == root
        from_root = bytes.fromhex(proof["from_root"])
        if proof["from_size"] == 0:
            return not path and from_root == EMPTY_ROOT and (proof["size"] > 0 or root == EMPTY_ROOT)
        return consistency_roots(proof["from_size"], proof["size"], from_root, path) == (from_root, root)
    except WrongPath:
        return False


def claims_of(proof: Proof) -> Claims:
    roots = {proof["size"]: bytes.fromhex(proof["root"])}
    if proof["proof"] == "consistency":
        roots[proof["from_size"]] = bytes.fromhex(proof["from_root"])
    return Claims(proof["run"], roots)


def _evidence_codes(
    claims: Claims, embedded: Checkpoint, checkpoint: bytes | None, pin: Checkpoint | None, key: PublicKey | None
) -> Iterator[str]:
    """The findings that follow from the reader's evidence.

    A key applies to the reader's checkpoint or, without one, to the proof's own.
    """
    if checkpoint is not None:
        try:
            yield from _compare(claims, read_checkpoint(checkpoint), key, "L508", "L509")
        except MalformedCheckpoint:
            yield "L506"
    elif key and not embedded.is_signed_by(key):
        yield "L510"
    if pin is not None:
        yield from _compare(claims, pin, None, "L512", "L513")


def _compare(
    claims: Claims, trusted: Checkpoint, key: PublicKey | None, too_large: str, other_root: str
) -> Iterator[str]:
    if key and not trusted.is_signed_by(key):
        yield "L510"
    elif trusted.run != claims.run:
        yield "L507"
    elif trusted.size > claims.size:
        yield too_large
    elif claims.roots.get(trusted.size) != trusted.root:
        yield other_root
