"""Split the archive of bodies into members and join them again."""

from __future__ import annotations

from dataclasses import dataclass, replace

BLOCK = 512
END = bytes(2 * BLOCK)
# Offsets of the header fields that mutations change: name, mode, mtime, checksum, type, magic, user.
FIELDS = {
    "mode": (100, b"0000755\0"),
    "owner": (108, b"0001750\0"),
    "time": (136, b"14717412345\0"),
    "type": (156, b"\0"),
    "link": (157, b"x"),
    "magic": (257, b"ustar  \0"),
    "user": (265, b"root"),
    "prefix": (345, b"bodies"),
    "reserve": (511, b"\1"),
}


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    content: bytes

    @property
    def folder(self) -> str:
        return self.name.partition("/")[0]

    @property
    def digest(self) -> str:
        return self.name.partition("/")[2]

    def moved(self, folder: str) -> Member:
        return replace(self, name=f"{folder}/{self.digest}")

    def packed(self) -> bytes:
        return header(self.name, len(self.content)) + self.content + bytes(-len(self.content) % BLOCK)


def header(name: str, size: int) -> bytes:
    ids = b"0000644\0" + b"0000000\0" * 2
    front = name.encode().ljust(100, b"\0") + ids + b"%011o\0" % size + b"0" * 11 + b"\0"
    back = b"0" + bytes(100) + b"ustar\x0000" + bytes(64) + b"0000000\0" * 2 + bytes(167)
    return summed(front + b" " * 8 + back)


def summed(block: bytes) -> bytes:
    """The header with a correct checksum."""
    blank = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(blank) + block[156:]


def with_field(block: bytes, field: str) -> bytes:
    """A header with one changed field and a correct checksum."""
    start, value = FIELDS[field]
    return summed(block[:start] + value + block[start + len(value) :])


def pack(members: list[Member], *, ended: bool = True) -> bytes:
    return b"".join(member.packed() for member in members) + (END if ended else b"")


def unpack(data: bytes) -> list[Member]:
    """The members of a well-formed archive."""
    members = []
    start = 0
    while data[start : start + 1] not in (b"", b"\0"):
        size = int(data[start + 124 : start + 135], 8)
        name = data[start : start + 100].rstrip(b"\0").decode()
        start += BLOCK
        members.append(Member(name, data[start : start + size]))
        start += size + -size % BLOCK
    return members
