"""Bodies: the bytes of prompts, outputs and manifests, stored beside the ledger and named by their digest."""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from hashlib import sha256
from typing import Any, NamedTuple

from forum_runner.canonical import canonical
from forum_runner.errors import UsageError
from forum_runner.ledger.archive import MAX_BODY_BYTES, SALT_BYTES, commitment

JSON = "application/json"
TEXT = "text/plain"
_SUFFIXES = {JSON: ".json", TEXT: ".txt"}

Salt = Callable[[], bytes]
_MAX_BYTES = MAX_BODY_BYTES - SALT_BYTES


class Body(NamedTuple):
    """A body to record. If it is sensitive, its digest is salted, so that a short body cannot be guessed from it."""

    data: bytes
    type: str = "application/octet-stream"
    is_sensitive: bool = False

    @classmethod
    def text(cls, text: str, *, is_sensitive: bool = False) -> Body:
        try:
            return cls(text.encode(), TEXT, is_sensitive)
        except UnicodeEncodeError as error:
            raise UsageError("the text contains a lone surrogate, which cannot be encoded as UTF-8") from error

    @classmethod
    def json(cls, value: Any, *, is_sensitive: bool = False) -> Body:
        return cls(canonical(value), JSON, is_sensitive)


def digest_body(body: Body, draw_salt: Salt, redacted: Container[bytes]) -> tuple[bytes, bytes, dict[str, Any]]:
    """The digest of a body, its salt (empty for a plain body), and the reference to it in an entry.

    A redacted digest is never used again: the same bytes get a salt, and so a different digest.
    """
    if not isinstance(body, Body):
        raise UsageError(f"a body must be made by Body, Body.text or Body.json; this is a {type(body).__name__}")
    data, media_type, is_sensitive = body
    if len(data) > _MAX_BYTES:
        raise UsageError(f"the body has {len(data):,} bytes; the maximum is {_MAX_BYTES:,}")
    digest, salt = b"" if is_sensitive else sha256(data).digest(), b""
    if is_sensitive or digest in redacted:
        salt = draw_salt()
        if len(salt) != SALT_BYTES:
            raise ValueError(f"the salt has {len(salt)} bytes, not {SALT_BYTES}")
        digest = bytes.fromhex(commitment(salt, data))
    reference = {"bytes": len(data), "digest": digest.hex(), "type": media_type}
    if salt:
        reference["salted"] = True
    return digest, salt, reference


def read_json(data: bytes) -> Any:
    """The value of a JSON body. Raises a ValueError or a CanonicalError if the bytes are not its RFC 8785 form.

    It does not use orjson, which would read an integer beyond 64 bits as a float, and hide that it is out of range.
    """
    value = json.loads(data.decode())
    if canonical(value) != data:
        raise ValueError("it is not in RFC 8785 form")
    return value


def copy_name(output: str, type_: str) -> str:
    """The file name of the copy of an output in `outputs/`."""
    return output + _SUFFIXES.get(type_, ".bin")
