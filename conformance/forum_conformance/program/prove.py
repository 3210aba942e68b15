"""The role `prove`: create checkpoints and proofs from the bytes of a ledger, and check proofs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forum_conformance.judge import judge
from forum_conformance.lines import Lines
from forum_conformance.note import checkpoint_text
from forum_conformance.program.answer import Answer, BadRequest, Request
from forum_conformance.program.merkle_path import consistency_path, inclusion_path, root_of
from forum_conformance.program.proof_check import check
from forum_conformance.report import entries_text


class NoSuchEntries(ValueError):
    """The ledger does not have the entries to prove, or is invalid."""


@dataclass(frozen=True, slots=True)
class Log:
    """The first entries of a ledger."""

    run: str
    lines: tuple[bytes, ...]
    leaves: tuple[bytes, ...]

    def checkpoint(self) -> bytes:
        return checkpoint_text(self.run, len(self.leaves), root_of(self.leaves))


def prove(request: Request) -> Answer:
    if request["action"] == "check":
        return check(request)
    build = _DOCUMENT_BUILDERS.get(request["action"])
    if build is None:
        raise BadRequest(f"unknown action '{request['action']}'")
    try:
        document = build(request)
    except NoSuchEntries as error:
        return Answer("invalid", message=str(error))
    Path(request["output"]).write_bytes(document)
    return Answer("valid")


def first_entries(request: Request) -> Log:
    """The first `size` entries of the ledger. Raises NoSuchEntries if it has fewer or is invalid."""
    path = Path(request["input"])
    if judge(path, levels=frozenset({1, 2})).findings.count:
        raise NoSuchEntries("the ledger's bytes or chain are invalid")
    with (path / "ledger.jsonl" if path.is_dir() else path).open("rb") as stream:
        lines = list(Lines(stream))
    size = request["size"]
    if not lines or size > len(lines):
        raise NoSuchEntries(f"size is {size}, but the ledger has {entries_text(len(lines))}")
    contents = tuple(line.content or b"" for line in lines)
    return Log(_run_of(contents[0]), contents[:size], tuple(line.hash for line in lines[:size]))


def _run_of(line: bytes) -> str:
    try:
        run: str = json.loads(line)["run"]
    except (ValueError, TypeError, KeyError) as error:
        raise NoSuchEntries("the first line is not an entry") from error
    return run


def build_checkpoint(request: Request) -> bytes:
    return first_entries(request).checkpoint()


def build_inclusion(request: Request) -> bytes:
    log = first_entries(request)
    seq = request["seq"]
    if seq >= len(log.leaves):
        raise NoSuchEntries(f"entry {seq} is outside the first {len(log.leaves)} entries")
    path = inclusion_path(seq, log.leaves)
    return _document(log, "inclusion", path, {"seq": seq, "entry": log.lines[seq].decode("utf-8")})


def build_consistency(request: Request) -> bytes:
    log = first_entries(request)
    size = request["from_size"]
    if size > len(log.leaves):
        raise NoSuchEntries(f"from_size is {size}, but size is only {len(log.leaves)}")
    # RFC 6962 has no path from an empty tree, which is a prefix of every tree.
    path = consistency_path(size, log.leaves) if size else []
    return _document(log, "consistency", path, {"from_size": size, "from_root": root_of(log.leaves[:size]).hex()})


def _document(log: Log, proof: str, path: list[bytes], fields: Mapping[str, Any]) -> bytes:
    document = {
        "format": 1,
        "proof": proof,
        "run": log.run,
        **fields,
        "size": len(log.leaves),
        "root": root_of(log.leaves).hex(),
        "path": [hash_.hex() for hash_ in path],
        "checkpoint": log.checkpoint().decode(),
    }
    return json.dumps(document, indent=2).encode() + b"\n"


_DOCUMENT_BUILDERS: dict[str, Callable[[Request], bytes]] = {
    "checkpoint": build_checkpoint,
    "inclusion": build_inclusion,
    "consistency": build_consistency,
}
