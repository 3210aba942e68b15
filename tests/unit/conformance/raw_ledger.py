"""Writes run directories by hand: entries, chain, seals and bodies, with no rule about what may be written."""

import base64
import copy
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rfc8785

from forum_conformance.judge import Given, judge
from forum_conformance.report import Report

RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"
OTHER_RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e60"
ZEROS = "0" * 64
END_OF_ARCHIVE = bytes(1024)
NO_USAGE = dict.fromkeys(
    ("input_tokens", "cached_input_tokens", "output_tokens", "micro_usd", "output_bytes", "wall_ms"), 0
)
STATES = ("passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled")
OPENED = {"format": 1, "implementation": {"name": "by-hand", "version": "1"}, "mode": "live"}
SEALED: dict[str, Any] = {
    "status": "passed",
    "counts": dict.fromkeys(STATES, 0),
    "totals": {"calls": 0, **NO_USAGE},
}

Entry = dict[str, Any]


def canonical(value: Any) -> bytes:
    return rfc8785.dumps(value)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def leaf(line: bytes) -> bytes:
    return hashlib.sha256(b"\0" + line).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, as it is written there."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root(leaves[:split]) + root(leaves[split:])).digest()


@dataclass(frozen=True, slots=True)
class Stored:
    """A body as the archive keeps it, and as an entry names it."""

    content: bytes
    type: str = "text/plain"
    salt: bytes = b""

    @property
    def digest(self) -> str:
        return digest((b"forum:salted:v1\n" if self.salt else b"") + self.salt + self.content)

    @property
    def member(self) -> tuple[str, bytes]:
        return f"{'salted' if self.salt else 'sha256'}/{self.digest}", self.salt + self.content

    @property
    def named(self) -> dict[str, Any]:
        named = {"digest": self.digest, "bytes": len(self.content), "type": self.type}
        return {**named, "salted": True} if self.salt else named


def as_json(value: Any, salt: bytes = b"") -> Stored:
    return Stored(canonical(value), "application/json", salt)


def member_bytes(name: str, content: bytes) -> bytes:
    """POSIX ustar, field by field: offset and text of each that is not all NULs."""
    header = bytearray(512)
    fields = {
        0: name.encode(),
        100: b"0000644",
        108: b"0000000",
        116: b"0000000",
        124: b"%011o" % len(content),
        136: b"00000000000",
        148: b" " * 8,
        156: b"0",
        257: b"ustar\x0000",
        329: b"0000000",
        337: b"0000000",
    }
    for offset, text in fields.items():
        header[offset : offset + len(text)] = text
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + content + bytes(-len(content) % 512)


class RawLedger:
    """Entries in the order in which they are added. Chain, roots of seals and archive are made when it is written."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.stored: dict[str, Stored] = {}
        self.redacted: set[str] = set()

    def add(
        self,
        kind: str,
        data: Mapping[str, Any] | None = None,
        causes: Sequence[int] = (),
        bodies: Mapping[str, Stored] | None = None,
        at: str | None = None,
    ) -> int:
        seq = len(self.entries)
        bodies = bodies or {}
        for _, body in sorted(bodies.items()):
            self.stored.setdefault(body.digest, body)
        self.entries.append(
            {
                "v": 1,
                "run": RUN,
                "seq": seq,
                "at": at or f"2026-11-15T09:00:00.{seq:06d}Z",
                "actor": "runner",
                "kind": kind,
                "causes": sorted(set(causes)),
                "data": dict(data or {}),
                "bodies": {name: body.named for name, body in bodies.items()},
            }
        )
        return seq

    def redact(self, body: Stored, name: str, causes: Sequence[int], reason: bytes = b"asked for") -> int:
        self.redacted.add(body.digest)
        data = {"body": name, "digest": body.digest}
        return self.add("body.redacted", data, causes, {"reason": Stored(reason)})

    def lines(self, edit: Callable[[int, Entry], None] | None = None) -> list[bytes]:
        """The chained lines. An edit sees each entry, with its right `prev` and `root`, before it becomes a line."""
        lines: list[bytes] = []
        leaves: list[bytes] = []
        for number, entry in enumerate(copy.deepcopy(self.entries)):
            entry["prev"] = leaves[-1].hex() if leaves else ZEROS
            if entry["kind"] == "run.sealed":
                entry["data"].setdefault("root", root(leaves).hex())
            if edit:
                edit(number, entry)
            lines.append(canonical(entry))
            leaves.append(leaf(lines[-1]))
        return lines

    def members(self) -> list[bytes]:
        return [self.member(body) for body in self.stored.values()]

    def member(self, body: Stored) -> bytes:
        name, content = body.member
        if body.digest in self.redacted:
            return member_bytes(f"redacted/{body.digest}", bytes(len(content)))
        return member_bytes(name, content)

    def write(self, directory: Path, edit: Callable[[int, Entry], None] | None = None) -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        write_lines(directory, self.lines(edit))
        is_sealed = self.entries[-1]["kind"] == "run.sealed" if self.entries else False
        archive = b"".join(self.members()) + (END_OF_ARCHIVE if is_sealed else b"")
        (directory / "bodies.tar").write_bytes(archive)
        self._write_copies(directory)
        return directory

    def _write_copies(self, directory: Path) -> None:
        for entry in self.entries:
            if entry["kind"] == "answer.given":
                body = self.stored[entry["bodies"]["value"]["digest"]]
                suffix = {"application/json": ".json", "text/plain": ".txt"}.get(body.type, ".bin")
                self._write_copy(directory / "outputs" / f"{entry['data']['output']}{suffix}", body)
            if entry["kind"] == "run.opened" and "wave_plan" in entry["bodies"]:
                body = self.stored[entry["bodies"]["wave_plan"]["digest"]]
                self._write_copy(directory / "wave-plan.json", body)

    def _write_copy(self, path: Path, body: Stored) -> None:
        if body.digest not in self.redacted:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(body.content)


def ledger_of(*bodies: Stored, is_sealed: bool = True) -> RawLedger:
    """A ledger of no plan: `run.opened`, one entry for each body, and a seal."""
    ledger = RawLedger()
    ledger.add("run.opened", OPENED)
    for body in bodies:
        ledger.add("x-kept", bodies={"kept": body})
    if is_sealed:
        ledger.add("run.sealed", SEALED)
    return ledger


def write_lines(directory: Path, lines: Sequence[bytes]) -> None:
    (directory / "ledger.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


def read_lines(directory: Path) -> list[bytes]:
    return (directory / "ledger.jsonl").read_bytes().split(b"\n")[:-1]


def rechain(lines: Sequence[bytes]) -> list[bytes]:
    """The lines with each `prev` made right; for lines that are JSON."""
    chained: list[bytes] = []
    for line in lines:
        entry = json.loads(line)
        entry["prev"] = leaf(chained[-1]).hex() if chained else ZEROS
        chained.append(canonical(entry))
    return chained


def checkpoint(lines: Sequence[bytes], run: str = RUN) -> bytes:
    encoded = base64.b64encode(root([leaf(line) for line in lines])).decode()
    return f"forum/{run}\n{len(lines)}\n{encoded}\n".encode()


def judged(directory: Path, levels: Sequence[int] = (1, 2, 3, 4, 5), **given: Any) -> Report:
    return judge(directory, levels=frozenset(levels), given=Given(**given))


def told(report: Report) -> list[tuple[str, int | None]]:
    return [(finding.code, finding.seq) for finding in report.findings.kept]


def statuses(report: Report) -> list[str]:
    return [level.status.value for level in report.levels]
