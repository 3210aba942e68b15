"""Reads a ledger of forum-engine: `entries.jsonl`, and the bodies in `payloads.jsonl` in the same folder.

The format has no specification; these rules are inferred from its ledgers. An entry's hash is SHA-256 over seq, time
with six decimals, actor, kind, parent (empty if there is none), payload hash and previous hash, joined by 0x1F. A
payload's hash is SHA-256 over its body as Python's `json` writes it, with sorted keys and without whitespace.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from forum_runner.importing.import_file import ImportFile
from forum_runner.importing.imported_record import ImportedRecord, facts, format_seconds, texts
from forum_runner.importing.parsed_source import ImportFormat, ParsedSource, SourceCheck
from forum_runner.importing.source_error import SourceError
from forum_runner.importing.spool import RecordSpool
from forum_runner.importing.strict_json import JsonText, read_json
from forum_runner.ledger.body import JSON, Body

ENTRIES = "entries.jsonl"
PAYLOADS = "payloads.jsonl"
MEMBERS = frozenset({"seq", "ts", "actor", "kind", "payload_hash", "prev_hash", "entry_hash"})
_FIRST_PREV = "0" * 64
# The members of a payload that contain text for people.
_TEXTS = ("text", "instruction", "output", "answer", "reason")
_TYPES = {"seq": int, "actor": str, "kind": str, "payload_hash": str, "prev_hash": str, "entry_hash": str}


def parse(spool: RecordSpool, entries: ImportFile, payload_file: ImportFile | None) -> ParsedSource:
    """Turns each line of the entries into a record, with its payload if there is one."""
    payloads = _Payloads(payload_file)
    chain = _ChainCheck()
    for number, line in enumerate(entries.lines()):
        entry = _entry(line)
        chain.check(number, entry)
        spool.add(_record(number, line, entry, payloads))
    faults = [fault for fault in (chain.fault, payloads.fault) if fault]
    files = tuple(file.facts() for file in (entries, payload_file) if file)
    check = SourceCheck.FAIL if faults else SourceCheck.OK
    reason = "; ".join(faults or ["its hash chain is valid", payloads.summary()])
    return ParsedSource(ImportFormat.FORUM_ENGINE, spool, files, check, reason)


def _entry(line: JsonText) -> dict[str, Any]:
    entry = read_json(line)
    if not isinstance(entry, dict) or not set(entry) >= MEMBERS:
        reason = f"not an entry of forum-engine: it needs {', '.join(sorted(MEMBERS))}"
        raise SourceError(line.file, f"line {line.line}", reason)
    for name, type_ in _TYPES.items():
        if type(entry[name]) is not type_:
            expected = "an integer" if type_ is int else "a string"
            raise SourceError(line.file, f"line {line.line}", f"'{name}' is not {expected}")
    if type(entry["ts"]) not in (int, float):
        raise SourceError(line.file, f"line {line.line}", "'ts' is not a number")
    if type(entry.get("causal_parent")) not in (int, type(None)):
        raise SourceError(line.file, f"line {line.line}", "'causal_parent' is not an integer")
    return entry


def _record(number: int, line: JsonText, entry: dict[str, Any], payloads: _Payloads) -> ImportedRecord:
    parent = entry.get("causal_parent")
    payload = payloads.read(entry["payload_hash"])
    body = payload[1] if payload else None
    members = body if isinstance(body, dict) else {}
    data = facts(
        seq=entry["seq"],
        time=format_seconds(entry["ts"]),
        actor=entry["actor"],
        kind=entry["kind"],
        parent=parent,
        hash=entry["entry_hash"],
        task=members.get("id"),
        payload="there" if payload else "missing",
    )
    bodies = {"record": Body(line.data, JSON), **texts({name: members.get(name) for name in _TEXTS})}
    if payload:
        bodies["payload"] = Body(payload[0], JSON)
    return ImportedRecord("x-import-entry", data, bodies, _causes(number, entry["seq"], parent))


def _causes(number: int, seq: int, parent: int | None) -> tuple[int, ...]:
    """The number of the parent, if it is earlier. An entry whose own number is wrong has no trustworthy parent."""
    return (parent,) if parent is not None and seq == number and 0 <= parent < number else ()


class _ChainCheck:
    """Checks the hash chain, entry by entry. `fault` describes the first fault."""

    def __init__(self) -> None:
        self.fault: str | None = None
        self._prev = _FIRST_PREV

    def check(self, number: int, entry: dict[str, Any]) -> None:
        is_next = entry["seq"] == number and entry["prev_hash"] == self._prev
        if self.fault is None and not (is_next and entry["entry_hash"] == _entry_hash(entry)):
            self.fault = f"its hash chain is broken at entry {number}"
        self._prev = entry["entry_hash"]


def _entry_hash(entry: dict[str, Any]) -> str:
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
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


class _Payloads:
    """The payloads in their file. Only their positions are in memory, by hash. `fault` describes the first fault."""

    def __init__(self, file: ImportFile | None) -> None:
        self.fault: str | None = None
        self._missing = 0
        self._file = file
        self._positions: dict[bytes, tuple[int, int]] = {}
        if file is not None:
            self._index(file)

    def _index(self, file: ImportFile) -> None:
        for line, offset in file.lines_and_offsets():
            payload = read_json(line)
            if not isinstance(payload, dict) or type(payload.get("hash")) is not str or "body" not in payload:
                reason = "not a payload of forum-engine: it needs 'hash' (a string) and 'body'"
                raise SourceError(line.file, f"line {line.line}", reason)
            if self.fault is None and _payload_hash(payload["body"]) != payload["hash"]:
                self.fault = f"line {line.line} of {line.file} does not match its hash"
            self._positions.setdefault(payload["hash"].encode(), (offset, len(line.data)))

    def summary(self) -> str:
        """The result of the check of the payloads, if it found no fault."""
        if not self._positions:
            return "its payloads are missing and were not checked" if self._missing else "it has no payloads"
        missing = f" ({self._missing:,} missing)" if self._missing else ""
        return f"its payloads match their hashes{missing}"

    def read(self, digest: str) -> tuple[bytes, Any] | None:
        """The line of the payload with this hash, and its body; None if the payload is missing."""
        position = self._positions.get(digest.encode())
        if position is None or self._file is None:
            self._missing += 1
            return None
        line = self._file.read_at(*position)
        return line, json.loads(line)["body"]


def _payload_hash(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
