"""Recognize by their first bytes: archives, compressed files, text in UTF-16.

Checked before the signs of a ledger: a tar of a run directory contains the lines of a ledger.
"""

import re
from collections.abc import Iterator

_MAGIC = ((b"\x1f\x8b\x08", "gzip"), (b"PK\x03\x04", "zip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\x00", "xz"))
_BLOCK = 512
# Headers of pax and GNU that describe the member after them.
_EXTENSIONS = (b"x", b"g", b"L", b"K")
_OCTAL = re.compile(rb"[ \x00]*([0-7]+)[ \x00]*")
_OF_A_BODY = re.compile(r"(sha256|salted|redacted)/[0-9a-f]{64}")
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def packing_of(head: bytes) -> str | None:
    """The name of a compressed format, by its magic number."""
    return next((name for magic, name in _MAGIC if head.startswith(magic)), None)


def tar_members(head: bytes) -> list[str]:
    """The names of the members of a tar, as far as the head goes; empty if it is not a tar."""
    return list(_members(head))


def is_of_bodies(members: list[str]) -> bool:
    return bool(members) and all(_OF_A_BODY.fullmatch(name) for name in members)


def _members(head: bytes) -> Iterator[str]:
    at = 0
    while len(block := head[at : at + _BLOCK]) == _BLOCK:
        size = _number(block[124:136])
        if size is None or _number(block[148:156]) != _checksum(block):
            return
        if block[156:157] not in _EXTENSIONS:
            yield block[:100].rstrip(b"\x00").decode("utf-8", "replace")
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK


def _number(digits: bytes) -> int | None:
    found = _OCTAL.fullmatch(digits)
    return int(found[1], 8) if found else None


def _checksum(block: bytes) -> int:
    """The sum of a header's bytes, with the checksum field counted as spaces."""
    return sum(block[:148]) + 8 * ord(" ") + sum(block[156:])


def utf16_text(head: bytes) -> str | None:
    """The text of a head in UTF-16, by its byte order mark or by zeros in every other byte; None otherwise."""
    encoding = _MARKS.get(head[:2]) or _unmarked(head[:64])
    if encoding is None or not head[2:]:
        return None
    try:
        # A head that was cut may end inside a pair of surrogates, but not inside a unit of two bytes.
        return head.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        is_at_the_end = error.reason == "unexpected end of data" and len(head) % 2 == 0
        return head[: error.start].decode(encoding).removeprefix("\ufeff") if is_at_the_end else None


def _unmarked(start: bytes) -> str | None:
    even, odd = start[0::2], start[1::2]
    if len(start) < 4 or not (any(even) ^ any(odd)):
        return None
    return "utf-16-le" if all(even) and not any(odd) else "utf-16-be" if all(odd) and not any(even) else None
