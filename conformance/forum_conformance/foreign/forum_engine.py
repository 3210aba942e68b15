"""Recompute forum-engine's own hashes. Its format is undocumented; this is derived from its ledgers.

An entry's hash is the SHA-256 of these values, joined by 0x1F: seq, time with six decimal places, actor, kind, parent
(empty if there is none), hash of the payload, hash of the previous entry. A payload's hash is the SHA-256 of its JSON
as Python writes it: keys sorted, no white space, all characters beyond ASCII escaped.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

ENTRIES = "entries.jsonl"
PAYLOADS = "payloads.jsonl"
MAX_LINE_BYTES = 1 << 26
_FIRST_PREV = "0" * 64
_SEPARATOR = "\x1f"


class Unreadable(ValueError):
    """A line that forum-engine cannot have written."""


@dataclass(slots=True)
class ChainResult:
    """The result of checking a chain: the number of valid entries, and the first fault, if any."""

    entries: int = 0
    fault: str | None = None
    payloads: set[str] = field(default_factory=set)
    """The hashes of the payloads that entries refer to."""


def check_chain(stream: BinaryIO) -> ChainResult:
    chain = ChainResult()
    prev = _FIRST_PREV
    for number, line in enumerate(_lines(stream)):
        try:
            entry = _object(line)
            computed = _entry_hash(entry)
        except Unreadable as error:
            chain.fault = f"line {number + 1} {error}"
            return chain
        if entry["seq"] != number or entry["prev_hash"] != prev or entry["entry_hash"] != computed:
            chain.fault = f"entry {number} does not follow from the previous one, or was changed"
            return chain
        chain.entries += 1
        chain.payloads.add(entry["payload_hash"])
        prev = computed
    return chain


def check_payloads(path: Path, referenced: set[str]) -> str:
    """Check the bodies next to the entries, and describe the result in a sentence."""
    present: set[str] = set()
    with path.open("rb") as stream:
        for number, line in enumerate(_lines(stream)):
            try:
                payload = _object(line)
                if "body" not in payload:
                    raise Unreadable("has no body")
                digest = payload_hash(payload["body"])
            except Unreadable as error:
                return f"its bodies are invalid: line {number + 1} of {PAYLOADS} {error}"
            if payload.get("hash") != digest:
                return f"its bodies are invalid: line {number + 1} of {PAYLOADS} does not match its hash"
            present.add(digest)
    missing = len(referenced - present)
    suffix = f", {missing} missing" if missing else ""
    return f"its bodies match their hashes: {len(present)} in {PAYLOADS}{suffix}"


def _entry_hash(entry: dict[str, Any]) -> str:
    try:
        parent = entry.get("causal_parent")
        parts = (
            str(entry["seq"]),
            f"{entry['ts']:.6f}",
            entry["actor"],
            entry["kind"],
            "" if parent is None else str(parent),
            entry["payload_hash"],
            entry["prev_hash"],
        )
        return hashlib.sha256(_SEPARATOR.join(parts).encode()).hexdigest()
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Unreadable("does not have the members of an entry") from error


def payload_hash(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unreadable("is not JSON") from error
    if not isinstance(value, dict):
        raise Unreadable("is not an object")
    return value


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(MAX_LINE_BYTES):
        yield line
