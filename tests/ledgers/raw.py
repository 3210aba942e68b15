"""Writes run directories as docs/spec/ledger.md asks, with none of the runner's code: a second hand for tests."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rfc8785

RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"
SALT_TAG = b"forum:salted:v1\n"
BLOCK = 512
SUFFIXES = {"application/json": ".json", "text/plain": ".txt"}


@dataclass(frozen=True, slots=True)
class Body:
    content: bytes
    type: str = "text/plain"
    salt: bytes = b""

    @property
    def stored(self) -> bytes:
        return self.salt + self.content

    @property
    def digest(self) -> str:
        return hashlib.sha256((SALT_TAG if self.salt else b"") + self.stored).hexdigest()

    @property
    def reference(self) -> dict[str, Any]:
        plain = {"digest": self.digest, "bytes": len(self.content), "type": self.type}
        return {**plain, "salted": True} if self.salt else plain


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands in a line, but for what the writer works out: `seq`, `prev`, and the root of a seal."""

    kind: str
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)
    bodies: Mapping[str, Body] = field(default_factory=dict)
    causes: tuple[int, ...] = ()
    actor: str = "runner"


def json_body(value: Any) -> Body:
    return Body(rfc8785.dumps(value), "application/json")


def leaf(line: bytes) -> bytes:
    return hashlib.sha256(b"\0" + line).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + root_of(leaves[:half]) + root_of(leaves[half:])).digest()


def lines_of(entries: Sequence[Entry], run: str = RUN) -> list[bytes]:
    lines: list[bytes] = []
    leaves: list[bytes] = []
    for seq, entry in enumerate(entries):
        data = dict(entry.data)
        if entry.kind == "run.sealed":
            data.setdefault("root", root_of(leaves).hex())
        members: dict[str, Any] = {
            "v": 1,
            "run": run,
            "seq": seq,
            "at": entry.at,
            "actor": entry.actor,
            "kind": entry.kind,
            "causes": sorted(set(entry.causes)),
            "data": data,
            "bodies": {name: body.reference for name, body in entry.bodies.items()},
            "prev": leaves[-1].hex() if leaves else "0" * 64,
        }
        lines.append(rfc8785.dumps(members))
        leaves.append(leaf(lines[-1]))
    return lines


def member(name: str, content: bytes) -> bytes:
    """One member of bodies.tar (LEDGER-TAR-001)."""
    fields = [
        name.encode().ljust(100, b"\0"),
        b"0000644\0",
        b"0000000\0" * 2,
        b"%011o\0" % len(content),
        b"0" * 11 + b"\0",
    ]
    rest = [b"0", bytes(100), b"ustar\x0000", bytes(64), b"0000000\0" * 2, bytes(155), bytes(12)]
    unsummed = b"".join([*fields, b" " * 8, *rest])
    header = b"".join([*fields, b"%06o\0 " % sum(unsummed), *rest])
    return header + content + bytes(-len(content) % BLOCK)


def archive_of(entries: Sequence[Entry]) -> bytes:
    gone = redacted(entries)
    members: dict[str, bytes] = {}
    for entry in entries:
        for _, body in sorted(entry.bodies.items()):
            if body.digest in gone:
                members.setdefault(body.digest, member(f"redacted/{body.digest}", bytes(len(body.stored))))
            else:
                folder = "salted" if body.salt else "sha256"
                members.setdefault(body.digest, member(f"{folder}/{body.digest}", body.stored))
    end = bytes(2 * BLOCK) if entries[-1].kind == "run.sealed" else b""
    return b"".join(members.values()) + end


def redacted(entries: Sequence[Entry]) -> set[str]:
    return {entry.data["digest"] for entry in entries if entry.kind == "body.redacted"}


def copies_of(entries: Sequence[Entry]) -> dict[str, bytes]:
    """The copies in a run directory, by their paths: of the wave plan, and of the answers."""
    gone = redacted(entries)
    bodies: dict[str, Body] = {}
    for entry in entries:
        if "wave_plan" in entry.bodies and entry.kind == "run.opened":
            bodies["wave-plan.json"] = entry.bodies["wave_plan"]
        if entry.kind == "answer.given":
            value = entry.bodies["value"]
            bodies[f"outputs/{entry.data['output']}{SUFFIXES.get(value.type, '.bin')}"] = value
    return {path: body.content for path, body in bodies.items() if body.digest not in gone}


def checkpoint_of(lines: Sequence[bytes], run: str = RUN) -> bytes:
    root = base64.b64encode(root_of([leaf(line) for line in lines])).decode()
    return f"forum/{run}\n{len(lines)}\n{root}\n".encode()


def write_run(
    directory: Path, entries: Sequence[Entry], run: str = RUN, torn: Mapping[str, bytes] | None = None
) -> Path:
    """`torn` are the tails that a `run.repaired` says were set aside, by the names of their files."""
    lines = lines_of(entries, run)
    files = {
        "ledger.jsonl": b"".join(line + b"\n" for line in lines),
        "bodies.tar": archive_of(entries),
        "checkpoint": checkpoint_of(lines, run),
        **copies_of(entries),
        **{f"torn/{name}": tail for name, tail in (torn or {}).items()},
    }
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return directory
