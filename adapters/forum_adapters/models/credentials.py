"""Reads the API key of a server, and keeps it out of messages."""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from forum_adapters.base import ErrorKind, is_valid_header_value
from forum_adapters.models.failures import CallFailed

_SCRUBBED = "[scrubbed]"
# A shorter piece of base64 could occur in any text by chance.
_MIN_PIECE_CHARS = 8
_MAX_QUOTED_CHARS = 600
# Only this much of a long text is cleaned up for quoting.
_MAX_PREPARED_CHARS = 4_000


class Secret:
    """A value that `repr` does not show and that can be removed from texts."""

    __slots__ = ("_encodings", "_value")

    def __init__(self, value: str = "") -> None:
        self._value = value
        encodings = sorted({encoding for encoding in _encodings(value) if encoding}, key=len, reverse=True)
        self._encodings = re.compile("|".join(map(re.escape, encodings))) if encodings else None

    def __repr__(self) -> str:
        return "Secret()"

    def reveal(self) -> str:
        return self._value

    def scrub(self, text: str) -> str:
        return self._encodings.sub(_SCRUBBED, text) if self._encodings else text

    def quote(self, text: str, max_chars: int = _MAX_QUOTED_CHARS) -> str:
        """A text from the server, scrubbed, shortened and on one line."""
        # Scrub before shortening, so that no part of a key remains.
        scrubbed = self.scrub(text)[:_MAX_PREPARED_CHARS]
        # Replace control characters with spaces. Removing them could join the parts of a split key.
        line = "".join(char if char.isprintable() else " " for char in scrubbed)
        return " ".join(line.split())[:max_chars]


def read_key(variable: str | None) -> Secret:
    """The key in the environment variable; empty if no variable is named. Raises CallFailed without a valid key."""
    if variable is None:
        return Secret()
    value = os.environ.get(variable, "")
    if not value:
        raise CallFailed(ErrorKind.AUTH, f"the environment variable {variable}, which holds the key, is not set")
    if not is_valid_header_value(value):
        message = f"the key in {variable} is invalid: it must consist of printable ASCII characters without spaces"
        raise CallFailed(ErrorKind.AUTH, message)
    return Secret(value)


def _encodings(value: str) -> Iterator[str]:
    """The value itself, and its encodings in JSON, HTML, URLs and base64."""
    yield value
    yield json.dumps(value)[1:-1]
    yield html.escape(value)
    for encoded in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield encoded
        yield re.sub("%..", lambda found: found[0].lower(), encoded)
    yield from _base64_encodings(value.encode())


def _base64_encodings(value: bytes) -> Iterator[str]:
    yield base64.b64encode(value).decode()
    for padding in range(3):
        # The characters at both ends also encode bits of the text around the value.
        encoded = base64.b64encode(bytes(padding) + value).decode()
        inner = encoded[(padding * 8 + 5) // 6 : (padding + len(value)) * 8 // 6]
        if len(inner) >= _MIN_PIECE_CHARS:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")
