"""Write run directories by docs/spec/ledger.md alone: lines, chain, seals, archive, copies and checkpoints."""

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
    """Bytes as the archive keeps them, and as an entry names them."""

    content: bytes
    type: str = "text/plain"
    salt: bytes = b""

    @property
    def digest(self) -> str:
        """LEDGER-BODY-001 and 002."""
        return hashlib.sha256((b"forum:salted:v1\n" + self.salt if self.salt else b"") + self.content).hexdigest()

    @property
    def named(self) -> dict[str, Any]:
        named = {"digest": self.digest, "bytes": len(self.content), "type": self.type}
        return {**named, "salted": True} if self.salt else named

    @property
    def member(self) -> Member:
        return f"{'salted' if self.salt else 'sha256'}/{self.digest}", self.salt + self.content


def as_json(value: Any, salt: bytes = b"") -> Body:
    return Body(canonical(value), "application/json", salt)


@dataclass(frozen=True, slots=True)
class Telling:
    """What a ledger tells: its entries without `prev`, a seal's `root` only if it is not to be the right one."""

    entries: tuple[Entry, ...]
    bodies: Mapping[str, Body] = field(default_factory=dict)
    redacted: frozenset[str] = frozenset()

    @property
    def is_sealed(self) -> bool:
        return bool(self.entries) and self.entries[-1]["kind"] == "run.sealed"


def canonical(value: Any) -> bytes:
    return rfc8785.dumps(value)


def leaf(line: bytes) -> bytes:
    """LEDGER-CHAIN-001."""
    return hashlib.sha256(b"\0" + line).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, as it is written there."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root(leaves[:half]) + root(leaves[half:])).digest()


def lines_of(telling: Telling, forms: Mapping[int, Form] | None = None) -> list[bytes]:
    """The chained lines; a form writes the entry of its place, chained already, in another way."""
    lines: list[bytes] = []
    leaves: list[bytes] = []
    for place, entry in enumerate(telling.entries):
        chained = {**entry, "prev": leaves[-1].hex() if leaves else ZEROS}
        if entry["kind"] == "run.sealed":
            chained["data"] = {"root": root(leaves).hex(), **entry["data"]}
        form: Form = (forms or {}).get(place, canonical)
        lines.append(form(chained))
        leaves.append(leaf(lines[-1]))
    return lines


def ledger_of(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def members_of(telling: Telling) -> list[Member]:
    """In the order in which entries first name them, those of one entry in the order of their names."""
    named = (body["digest"] for entry in telling.entries for _, body in sorted(entry["bodies"].items()))
    return [_member(telling, digest) for digest in dict.fromkeys(named) if digest in telling.bodies]


def _member(telling: Telling, digest: str) -> Member:
    name, content = telling.bodies[digest].member
    return (f"redacted/{digest}", bytes(len(content))) if digest in telling.redacted else (name, content)


def header_of(name: str, size: int) -> bytes:
    """LEDGER-TAR-001: the fields of a ustar header, each with its place in the block."""
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
    """The sum of the header's bytes, with the checksum field counted as spaces."""
    total = sum(block[:148]) + 8 * 0x20 + sum(block[156:])
    return block[:148] + b"%06o\0 " % total + block[156:]


def packed(member: Member) -> bytes:
    name, content = member
    return header_of(name, len(content)) + content + bytes(-len(content) % 512)


def archive_of(members: Sequence[Member], *, is_ended: bool = True) -> bytes:
    return b"".join(packed(member) for member in members) + (END_OF_ARCHIVE if is_ended else b"")


def copies_of(telling: Telling) -> Files:
    """LEDGER-DIR-002."""
    copies: Files = {}
    for entry in telling.entries:
        if entry["kind"] == "run.opened" and "wave_plan" in entry["bodies"]:
            copies |= _copy(telling, "wave-plan.json", entry["bodies"]["wave_plan"])
        if entry["kind"] == "answer.given" and "output" in entry["data"]:
            value = entry["bodies"]["value"]
            name = f"outputs/{entry['data']['output']}{SUFFIXES.get(value['type'], '.bin')}"
            copies |= _copy(telling, name, value)
    return copies


def _copy(telling: Telling, name: str, named: Mapping[str, Any]) -> Files:
    digest = named["digest"]
    return {name: telling.bodies[digest].content} if digest not in telling.redacted else {}


def directory_of(telling: Telling, forms: Mapping[int, Form] | None = None) -> Files:
    """The run directory that a writer of these entries leaves, by the names of its files."""
    archive = archive_of(members_of(telling), is_ended=telling.is_sealed)
    return {"ledger.jsonl": ledger_of(lines_of(telling, forms)), "bodies.tar": archive, **copies_of(telling)}


def checkpoint_of(lines: Sequence[bytes], size: int | None = None, run: str = RUN) -> bytes:
    """LEDGER-CHECKPOINT-001."""
    covered = lines if size is None else lines[:size]
    return checkpoint_text(len(covered), root([leaf(line) for line in covered]), run)


def checkpoint_text(size: int, root_hash: bytes, run: str = RUN) -> bytes:
    return f"forum/{run}\n{size}\n{base64.b64encode(root_hash).decode()}\n".encode()
