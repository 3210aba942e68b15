"""Recognize archives, compressed files and UTF-16 text by their first bytes.

Callers must check for these formats before they look for signs of a ledger: a tar of a run directory contains ledger
lines.
"""

import re
from collections.abc import Iterator

_MAGIC = ((b"\x1f\x8b\x08", "gzip"), (b"PK\x03\x04", "zip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\x00", "xz"))
_BLOCK = 512
_GUESS_BYTES = 64
# Type flags of pax and GNU extension headers, which are not members themselves.
_EXTENSION_HEADER_TYPES = (b"x", b"g", b"L", b"K")
_OCTAL = re.compile(rb"[ \x00]*([0-7]+)[ \x00]*")
_BODY_NAME = re.compile(r"(sha256|salted|redacted)/[0-9a-f]{64}")
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def compression_of(head: bytes) -> str | None:
    """The name of a compressed format, by its magic number; None if it is unknown."""
    return next((name for magic, name in _MAGIC if head.startswith(magic)), None)


def tar_members(head: bytes) -> list[str]:
    """The names of the members of a tar whose headers are in `head`; empty if it is not a tar."""
    return list(_members(head))


def contains_only_bodies(members: list[str]) -> bool:
    return bool(members) and all(_BODY_NAME.fullmatch(name) for name in members)


def _members(head: bytes) -> Iterator[str]:
    offset = 0
    while len(block := head[offset : offset + _BLOCK]) == _BLOCK:
        size = _octal(block[124:136])
        if size is None or _octal(block[148:156]) != _checksum(block):
            return
        if block[156:157] not in _EXTENSION_HEADER_TYPES:
            yield block[:100].rstrip(b"\x00").decode("utf-8", "replace")
        offset += _BLOCK + -(-size // _BLOCK) * _BLOCK


def _octal(digits: bytes) -> int | None:
    match = _OCTAL.fullmatch(digits)
    return int(match[1], 8) if match else None


def _checksum(block: bytes) -> int:
    """The sum of a header's bytes, with the checksum field counted as spaces."""
    return sum(block[:148]) + 8 * ord(" ") + sum(block[156:])


def utf16_text(head: bytes) -> str | None:
    """The text of a head in UTF-16, recognized by a byte order mark or by zeros in every other byte; otherwise None."""
    encoding = _BYTE_ORDER_MARKS.get(head[:2]) or _guess_utf16(head[:_GUESS_BYTES])
    if encoding is None or not head[2:]:
        return None
    try:
        return head.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        # A head is cut at an even offset, so it may split a surrogate pair but not a code unit.
        is_truncated = error.reason == "unexpected end of data" and len(head) % 2 == 0
        return head[: error.start].decode(encoding).removeprefix("\ufeff") if is_truncated else None


def _guess_utf16(start: bytes) -> str | None:
    """The encoding of text without a byte order mark, if every other byte is zero."""
    even, odd = start[0::2], start[1::2]
    if len(start) < 4 or not (any(even) ^ any(odd)):
        return None
    return "utf-16-le" if all(even) and not any(odd) else "utf-16-be" if all(odd) and not any(even) else None
