"""A fast check whether a secret may occur in a large text. It has false positives, but no false negatives.

It searches for traces that every form of the secret leaves, which is many times as fast as matching the forms.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

_PIECE_BYTES = 1 << 18
# The length of the longest form, per byte of the value: JSON writes a byte as six, and base64 may be wrapped anywhere.
_LONGEST_FORM = 16


class Traces:
    def __init__(self, value: str) -> None:
        self._value = value.encode(errors="surrogatepass")
        quoted = [json.dumps(value, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)]
        self._plain = {self._value, *(text.encode(errors="surrogatepass") for text in quoted)}
        self._hex = self._value.hex().encode()
        # Without the first character: after a backslash, it looks like an escaped line end.
        self._base64 = {core[1:] for core in base64_cores(self._value)}
        # Without the first two bytes: after a percent sign, they look like hexadecimal digits.
        self._in_a_url = self._value.replace(b"+", b" ")[2:]

    def may_occur_in(self, data: bytes) -> bool:
        reach = _LONGEST_FORM * len(self._value)
        pieces = (data[at : at + _PIECE_BYTES + reach] for at in range(0, len(data), _PIECE_BYTES))
        return any(map(self._may_occur_in_piece, pieces))

    def _may_occur_in_piece(self, piece: bytes) -> bool:
        if any(form in piece for form in self._plain) or self._hex in piece.lower():
            return True
        unwrapped = piece.replace(b"\\r", b"").replace(b"\\n", b"").translate(None, b"\r\n")
        if any(core in unwrapped for core in self._base64):
            return True
        has_escapes = b"%" in piece
        if has_escapes and b"%" in self._value:
            return True  # a percent sign of the value cannot be distinguished from an escape
        return (has_escapes or b" " in self._value) and self._in_a_url in unquote_to_bytes(piece).replace(b"+", b" ")


def base64_cores(data: bytes) -> Iterator[bytes]:
    """The characters that encode only these bytes, for each position in a group of three bytes."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            encoded = encode(bytes(before) + data)
            yield encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
