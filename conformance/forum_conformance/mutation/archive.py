"""Split the archive of bodies into members and join them again."""

from __future__ import annotations

from dataclasses import dataclass, replace

BLOCK = 512
END = bytes(2 * BLOCK)
# The offset of each header field that mutations change, and a value that the format does not allow there.
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

    def in_folder(self, folder: str) -> Member:
        return replace(self, name=f"{folder}/{self.digest}")

    def pack(self) -> bytes:
        return header(self.name, len(self.content)) + self.content + bytes(-len(self.content) % BLOCK)


def header(name: str, size: int) -> bytes:
    ids = b"0000644\0" + b"0000000\0" * 2
    before_checksum = name.encode().ljust(100, b"\0") + ids + b"%011o\0" % size + b"0" * 11 + b"\0"
    after_checksum = b"0" + bytes(100) + b"ustar\x0000" + bytes(64) + b"0000000\0" * 2 + bytes(167)
    return with_checksum(before_checksum + b" " * 8 + after_checksum)


def with_checksum(block: bytes) -> bytes:
    """The header block with a correct checksum."""
    blank = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(blank) + block[156:]


def with_field(block: bytes, field: str) -> bytes:
    """The header block with one changed field and a correct checksum."""
    start, value = FIELDS[field]
    return with_checksum(block[:start] + value + block[start + len(value) :])


def pack(members: list[Member], *, has_end: bool = True) -> bytes:
    return b"".join(member.pack() for member in members) + (END if has_end else b"")


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
