"""Whether a secret may stand in a large text: what every form of it leaves there is looked for.

That is many times as fast as to look for the forms themselves, and is wrong only by finding too much.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

_PIECE_BYTES = 1 << 18
# The longest form, for each byte of a value: JSON writes one as six, and line ends may stand between all of base64.
_LONGEST_FORM = 16


class Traces:
    def __init__(self, value: str) -> None:
        self._value = value.encode(errors="surrogatepass")
        quoted = [json.dumps(value, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)]
        self._plain = {self._value, *(text.encode(errors="surrogatepass") for text in quoted)}
        self._hex = self._value.hex().encode()
        # Of each the first character is left out: where a backslash stands before it, both look like a line end.
        self._base64 = {core[1:] for core in base64_cores(self._value)}
        # Without its first two bytes: a percent sign before them would take them for the digits of another.
        self._in_a_url = self._value.replace(b"+", b" ")[2:]

    def stand_in(self, data: bytes) -> bool:
        reach = _LONGEST_FORM * len(self._value)
        pieces = (data[at : at + _PIECE_BYTES + reach] for at in range(0, len(data), _PIECE_BYTES))
        return any(map(self._stand_in_piece, pieces))

    def _stand_in_piece(self, piece: bytes) -> bool:
        if any(form in piece for form in self._plain) or self._hex in piece.lower():
            return True
        unwrapped = piece.replace(b"\\r", b"").replace(b"\\n", b"").translate(None, b"\r\n")
        if any(core in unwrapped for core in self._base64):
            return True
        has_escapes = b"%" in piece
        if has_escapes and b"%" in self._value:
            return True  # whether a percent sign is the value's own is not seen
        return (has_escapes or b" " in self._value) and self._in_a_url in unquote_to_bytes(piece).replace(b"+", b" ")


def base64_cores(data: bytes) -> Iterator[bytes]:
    """The characters that stand for these bytes alone, wherever they begin in a group of a longer text."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            encoded = encode(bytes(before) + data)
            yield encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
