"""The forms in which a secret may occur in data: plain, in JSON, URL-encoded, in hexadecimal, and inside base64."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from io import BytesIO
from urllib.parse import unquote_to_bytes

from forum_runner.ledger.archive import LARGE_BYTES

# Programs wrap base64, and JSON escapes newlines.
_LINE_WRAP = rb"(?:\r?\n|(?:\\r)?\\n)?"
_PIECE_BYTES = 1 << 18
# An upper bound on the length of any form, per byte of the value: JSON needs up to 6 bytes (`\u00XX`), and base64 that
# is wrapped after every character needs fewer than 7.
_MAX_FORM_BYTES_PER_BYTE = 16


class SecretForms:
    """Finds a secret in any of the forms that this module lists, and replaces it with a mark that contains its name."""

    def __init__(self, name: str, value: str) -> None:
        self.value = value.encode(errors="surrogatepass")
        self._mark = f"[scrubbed: {name}]".encode()
        json_escaped = [json.dumps(value, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)]
        self._literals = {self.value, *(text.encode(errors="surrogatepass") for text in json_escaped)}
        self._hex = self.value.hex().encode()
        cores = set(_base64_cores(self.value))
        # Drop the first character: an `n` or `r` after a backslash would be removed as an escaped newline.
        self._base64_traces = {core[1:] for core in cores}
        # Drop the first two bytes: hex digits after a percent sign would be decoded.
        self._url_trace = self.value.replace(b"+", b" ")[2:]
        forms = [*map(re.escape, self._literals), b"".join(map(_url_byte_pattern, self.value)), b"(?i:%b)" % self._hex]
        forms += [_LINE_WRAP.join(re.escape(bytes([character])) for character in core) for core in cores]
        forms.sort(key=lambda form: len(form), reverse=True)
        self._pattern = re.compile(b"|".join(forms))

    def replace_in(self, data: bytes) -> bytes:
        if len(data) <= LARGE_BYTES:
            return self._pattern.sub(self._mark, data)
        return self._replace_in_large(data) if self.may_occur_in(data) else data

    def occurs_in(self, data: bytes) -> bool:
        return (len(data) <= LARGE_BYTES or self.may_occur_in(data)) and self._pattern.search(data) is not None

    def _replace_in_large(self, data: bytes) -> bytes:
        """Like `sub`, but with less memory: `sub` holds all text between matches twice."""
        replaced, start, view = BytesIO(), 0, memoryview(data)
        for found in self._pattern.finditer(data):
            replaced.write(view[start : found.start()])
            replaced.write(self._mark)
            start = found.end()
        if not start:
            return data
        replaced.write(view[start:])
        return replaced.getvalue()

    def may_occur_in(self, data: bytes) -> bool:
        """A fast check of large data. It has false positives, but no false negatives.

        It searches for traces: every form leaves at least one. This is many times faster than matching the forms.
        """
        reach = _MAX_FORM_BYTES_PER_BYTE * len(self.value)
        pieces = (data[start : start + _PIECE_BYTES + reach] for start in range(0, len(data), _PIECE_BYTES))
        return any(map(self._may_occur_in_piece, pieces))

    def _may_occur_in_piece(self, piece: bytes) -> bool:
        if any(literal in piece for literal in self._literals) or self._hex in piece.lower():
            return True
        unwrapped = piece.replace(b"\\r", b"").replace(b"\\n", b"").translate(None, b"\r\n")
        if any(trace in unwrapped for trace in self._base64_traces):
            return True
        has_escapes = b"%" in piece
        if has_escapes and b"%" in self.value:
            return True  # a percent sign of the value cannot be distinguished from an escape
        return (has_escapes or b" " in self.value) and self._url_trace in unquote_to_bytes(piece).replace(b"+", b" ")


def _base64_cores(data: bytes) -> Iterator[bytes]:
    """The characters that encode only these bytes, for each position in a group of three bytes."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            encoded = encode(bytes(before) + data)
            yield encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


def _url_byte_pattern(byte: int) -> bytes:
    """A pattern for a byte in a URL: plain, or a percent sign and two hex digits. A space may be a plus sign."""
    plain = b"[ +]" if byte == ord(" ") else re.escape(bytes([byte]))
    return b"(?:%b|%%(?i:%02x))" % (plain, byte)
