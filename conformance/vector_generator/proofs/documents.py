"""Creates proofs for a ledger of small entries by the definitions of RFC 6962, and checks them by LEDGER-PROOF-001."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from fake_ledger.files import RUN, checkpoint_of, leaf, lines_of, merkle_root
from fake_ledger.run_builder import RunBuilder
from forum_conformance.canonical import reject_repeated_keys
from forum_conformance.entry import read_object
from forum_conformance.note import Checkpoint, MalformedCheckpoint, PublicKey, is_signed, read_checkpoint
from forum_conformance.schemas import proof_validator
from vector_generator.proofs import tree

MAX_SIZE = 70
EMPTY_ROOT = merkle_root([])

Proof = dict[str, Any]


@cache
def lines() -> tuple[bytes, ...]:
    """The lines of an unsealed ledger of 70 entries: `run.opened`, then entries with one number each."""
    builder = RunBuilder()
    for number in range(1, MAX_SIZE):
        builder.add("x-n", {"n": number})
    return tuple(lines_of(builder.record().entries))


@cache
def leaves() -> tuple[bytes, ...]:
    return tuple(leaf(line) for line in lines())


def root_of(size: int) -> bytes:
    return merkle_root(leaves()[:size])


def checkpoint_of_size(size: int) -> bytes:
    return checkpoint_of(lines(), size)


def _common_members(kind: str, size: int, path: Sequence[bytes]) -> Proof:
    return {
        "format": 1,
        "proof": kind,
        "run": RUN,
        "size": size,
        "root": root_of(size).hex(),
        "path": [node.hex() for node in path],
        "checkpoint": checkpoint_of_size(size).decode(),
    }


def inclusion(seq: int, size: int) -> Proof:
    path = tree.inclusion(seq, leaves()[:size])
    return {**_common_members("inclusion", size, path), "seq": seq, "entry": lines()[seq].decode()}


def consistency(from_size: int, size: int) -> Proof:
    path = tree.consistency(from_size, leaves()[:size])
    older = {"from_size": from_size, "from_root": root_of(from_size).hex()}
    return {**_common_members("consistency", size, path), **older}


def proof_of_size(size: int) -> Proof:
    """One proof for each size: inclusion if it is even, consistency if it is odd. The entry or older size varies."""
    position = size * size * 5 // 7 % size
    return consistency(max(position, 1), size) if size % 2 else inclusion(position, size)


def proof_bytes(proof: Mapping[str, Any]) -> bytes:
    return json.dumps(proof, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def finding_codes(
    data: bytes, checkpoint: bytes | None = None, key: PublicKey | None = None, pin: bytes | None = None
) -> list[str]:
    """The codes of all findings about a proof, compared with the given checkpoint, pin and key."""
    try:
        proof, own = _read(data)
    except (ValueError, KeyError):
        return ["L601"]
    codes = [] if _path_leads_to_root(proof) else ["L602"]
    if key and checkpoint is None and not is_signed(own.text, own.signatures, key):
        codes.append("L510")
    if checkpoint is not None:
        codes += _contradictions(proof, checkpoint, key, ("L508", "L509"))
    if pin is not None:
        codes += _contradictions(proof, pin, None, ("L512", "L513"))
    return sorted(set(codes))


def _read(data: bytes) -> tuple[Proof, Checkpoint]:
    """Parse a proof and its checkpoint. Raises ValueError if it violates its schema or contradicts itself."""
    proof: Proof = json.loads(data.decode(), object_pairs_hook=reject_repeated_keys)
    own = read_checkpoint(str(proof["checkpoint"]).encode()) if isinstance(proof, dict) else None
    if own is None or not proof_validator().is_valid(proof):
        raise ValueError
    proof |= {name: int(proof[name]) for name in ("seq", "size", "from_size") if name in proof}
    agrees = (own.run, own.size, own.root.hex()) == (proof["run"], proof["size"], proof["root"])
    if not agrees or not _is_in_range(proof):
        raise ValueError
    return proof, own


def _is_in_range(proof: Proof) -> bool:
    if proof["proof"] == "consistency":
        return bool(proof["from_size"] <= proof["size"])
    entry, _ = read_object(proof["entry"].encode())
    is_line = "\n" not in proof["entry"] and not isinstance(entry.get("seq"), bool)
    is_same = is_line and (entry.get("run"), entry.get("seq")) == (proof["run"], proof["seq"])
    return bool(is_same and proof["seq"] < proof["size"])


def _path_leads_to_root(proof: Proof) -> bool:
    path = [bytes.fromhex(node) for node in proof["path"]]
    root = bytes.fromhex(proof["root"])
    try:
        if proof["proof"] == "inclusion":
            line = leaf(proof["entry"].encode())
            return tree.root_along(line, proof["seq"], proof["size"], path) == root
        older = bytes.fromhex(proof["from_root"])
        if proof["from_size"] == 0:
            return older == EMPTY_ROOT and not path and (proof["size"] > 0 or root == EMPTY_ROOT)
        return tree.roots_along(proof["from_size"], older, proof["size"], path) == (older, root)
    except tree.BrokenPath:
        return False


def _contradictions(proof: Proof, given: bytes, key: PublicKey | None, codes: tuple[str, str]) -> list[str]:
    """The first of L506, L510 and L507 that applies, or one of `codes` (too many entries, different root)."""
    try:
        other = read_checkpoint(given)
    except MalformedCheckpoint:
        return ["L506"]
    if key and not other.is_signed_by(key):
        return ["L510"]
    if other.run != proof["run"]:
        return ["L507"]
    if other.size > proof["size"]:
        return [codes[0]]
    roots = {proof["size"]: proof["root"]}
    if proof["proof"] == "consistency":
        roots = {proof["from_size"]: proof["from_root"], **roots}
    return [] if roots.get(other.size) == other.root.hex() else [codes[1]]
