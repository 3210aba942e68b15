"""A body: the bytes of a prompt, an output, a manifest, stored beside the ledger and named by their digest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from forum_runner.canonical import canonical
from forum_runner.errors import UsageError
from forum_runner.ledger.archive import SALT_BYTES, SALTED, commitment

JSON = "application/json"
TEXT = "text/plain"
_SUFFIXES = {JSON: ".json", TEXT: ".txt"}

Salt = Callable[[], bytes]


class Body(NamedTuple):
    """`is_sensitive` asks for a commitment with a salt: a short body cannot be guessed from its digest."""

    data: bytes
    type: str = "application/octet-stream"
    is_sensitive: bool = False

    @classmethod
    def text(cls, text: str, *, is_sensitive: bool = False) -> Body:
        try:
            return cls(text.encode(), TEXT, is_sensitive)
        except UnicodeEncodeError as error:
            raise UsageError("a text with a lone surrogate cannot be stored: it is no character") from error

    @classmethod
    def json(cls, value: Any, *, is_sensitive: bool = False) -> Body:
        return cls(canonical(value), JSON, is_sensitive)


# A body as the archive holds it and as an entry names it: digest, folder, content, reference. A tuple, as one is made
# for every body that is written.
StoredBody = tuple[bytes, str, bytes, dict[str, Any]]


def store_salted(body: Body, salt: Salt) -> StoredBody:
    content = salt() + body.data
    if len(content) != SALT_BYTES + len(body.data):
        raise ValueError(f"a salt has {SALT_BYTES} bytes")
    digest = commitment(content)
    reference = {"bytes": len(body.data), "digest": digest, "salted": True, "type": body.type}
    return bytes.fromhex(digest), SALTED, content, reference


def copy_name(output: str, type_: str) -> str:
    """The name of an answer's copy in `outputs/`."""
    return output + _SUFFIXES.get(type_, ".bin")
