"""The files of a run directory: ledger lines with chain and seals, archive, copies and checkpoint."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import rfc8785

RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"
OTHER_RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e60"
ZEROS = "0" * 64
OTHER_DIGEST = "0123456789abcdef" * 4
SALT = bytes(range(32))
END_OF_ARCHIVE = bytes(1024)
SUFFIXES = {"application/json": ".json", "text/plain": ".txt"}

Entry = dict[str, Any]
Files = dict[str, bytes]
Member = tuple[str, bytes]
Form = Callable[[Entry], bytes]


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a body, with the archive member that stores them and the reference that an entry contains."""

    content: bytes
    type: str = "text/plain"
    salt: bytes = b""

    @property
    def digest(self) -> str:
        """The digest as defined in LEDGER-BODY-001 and 002."""
        return hashlib.sha256((b"forum:salted:v1\n" + self.salt if self.salt else b"") + self.content).hexdigest()

    @property
    def reference(self) -> dict[str, Any]:
        reference = {"digest": self.digest, "bytes": len(self.content), "type": self.type}
        return {**reference, "salted": True} if self.salt else reference

    @property
    def member(self) -> Member:
        return f"{'salted' if self.salt else 'sha256'}/{self.digest}", self.salt + self.content


def json_body(value: Any, salt: bytes = b"") -> Body:
    return Body(canonical(value), "application/json", salt)


@dataclass(frozen=True, slots=True)
class Record:
    """The entries and bodies of a run. Entries have no `prev`; a seal has a `root` only if it is meant to be wrong."""

    entries: tuple[Entry, ...]
    bodies: Mapping[str, Body] = field(default_factory=dict)
    redacted: frozenset[str] = frozenset()

    @property
    def is_sealed(self) -> bool:
        return bool(self.entries) and self.entries[-1]["kind"] == "run.sealed"


def canonical(value: Any) -> bytes:
    return rfc8785.dumps(value)


def leaf(line: bytes) -> bytes:
    """The hash of a line (LEDGER-CHAIN-001)."""
    return hashlib.sha256(b"\0" + line).digest()


def merkle_root(leaves: Sequence[bytes]) -> bytes:
    """The root of the Merkle tree (RFC 6962, section 2.1)."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + merkle_root(leaves[:half]) + merkle_root(leaves[half:])).digest()


def lines_of(entries: Sequence[Entry], forms: Mapping[int, Form] | None = None) -> list[bytes]:
    """The chained lines. `forms` has a function for each entry, by its index, that is not written in RFC 8785 form."""
    lines: list[bytes] = []
    leaves: list[bytes] = []
    for index, entry in enumerate(entries):
        chained = {**entry, "prev": leaves[-1].hex() if leaves else ZEROS}
        if entry["kind"] == "run.sealed":
            chained["data"] = {"root": merkle_root(leaves).hex(), **entry["data"]}
        form: Form = (forms or {}).get(index, canonical)
        lines.append(form(chained))
        leaves.append(leaf(lines[-1]))
    return lines


def ledger_of(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def members_of(record: Record) -> list[Member]:
    """Members in the order in which entries first refer to them; within an entry, sorted by name."""
    digests = (body["digest"] for entry in record.entries for _, body in sorted(entry["bodies"].items()))
    return [_member(record, digest) for digest in dict.fromkeys(digests) if digest in record.bodies]


def _member(record: Record, digest: str) -> Member:
    name, content = record.bodies[digest].member
    return (f"redacted/{digest}", bytes(len(content))) if digest in record.redacted else (name, content)


def header_of(name: str, size: int) -> bytes:
    """The ustar header of a member (LEDGER-TAR-001). `fields` maps offsets to values."""
    block = bytearray(512)
    fields = {
        0: name.encode(),
        100: b"0000644",
        108: b"0000000",
        116: b"0000000",
        124: b"%011o" % size,
        136: b"00000000000",
        156: b"0",
        257: b"ustar\x0000",
        329: b"0000000",
        337: b"0000000",
    }
    for offset, text in fields.items():
        block[offset : offset + len(text)] = text
    return with_checksum(bytes(block))


def with_checksum(block: bytes) -> bytes:
    """The header with its checksum: the sum of all bytes, with the checksum field counted as spaces."""
    total = sum(block[:148]) + 8 * 0x20 + sum(block[156:])
    return block[:148] + b"%06o\0 " % total + block[156:]


def member_bytes(name: str, content: bytes) -> bytes:
    return header_of(name, len(content)) + content + bytes(-len(content) % 512)


def archive_of(members: Sequence[Member], *, has_end: bool = True) -> bytes:
    return b"".join(member_bytes(*member) for member in members) + (END_OF_ARCHIVE if has_end else b"")


def copies_of(record: Record) -> Files:
    """The copies of the wave plan and of the answers (LEDGER-DIR-002)."""
    copies: Files = {}
    for entry in record.entries:
        if entry["kind"] == "run.opened" and "wave_plan" in entry["bodies"]:
            copies |= _copy(record, "wave-plan.json", entry["bodies"]["wave_plan"])
        if entry["kind"] == "answer.given" and "output" in entry["data"]:
            value = entry["bodies"]["value"]
            name = f"outputs/{entry['data']['output']}{SUFFIXES.get(value['type'], '.bin')}"
            copies |= _copy(record, name, value)
    return copies


def _copy(record: Record, name: str, reference: Mapping[str, Any]) -> Files:
    digest = reference["digest"]
    return {name: record.bodies[digest].content} if digest not in record.redacted else {}


def directory_of(record: Record, forms: Mapping[int, Form] | None = None) -> Files:
    """The files of the run directory by name."""
    archive = archive_of(members_of(record), has_end=record.is_sealed)
    return {"ledger.jsonl": ledger_of(lines_of(record.entries, forms)), "bodies.tar": archive, **copies_of(record)}


def checkpoint_of(lines: Sequence[bytes], size: int | None = None, run: str = RUN) -> bytes:
    """The unsigned checkpoint of the first `size` lines, or of all (LEDGER-CHECKPOINT-001)."""
    covered = lines if size is None else lines[:size]
    return checkpoint_text(len(covered), merkle_root([leaf(line) for line in covered]), run)


def checkpoint_text(size: int, root_hash: bytes, run: str = RUN) -> bytes:
    return f"forum/{run}\n{size}\n{base64.b64encode(root_hash).decode()}\n".encode()
