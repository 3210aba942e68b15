"""A body: the bytes of a prompt, an output, a manifest, stored beside the ledger and named by their digest."""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from forum_runner.canonical import canonical
from forum_runner.errors import UsageError
from forum_runner.ledger.archive import (
    PLAIN,
    SALT_BYTES,
    SALTED,
    LargeMember,
    commitment,
    large_commitment,
    large_member,
    member,
)

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


# Of a folder, a digest and a content.
MakeMember = Callable[[str, str, bytes], bytes | LargeMember]

# A body as the archive holds it and as an entry names it: digest, folder, what makes its member, content, reference. A
# tuple, as one is made for every body that is written.
StoredBody = tuple[bytes, str, MakeMember, bytes, dict[str, Any]]


def store_salted(body: Body, salt: Salt) -> StoredBody:
    content = _drawn(salt) + body.data
    digest = commitment(content)
    return bytes.fromhex(digest), SALTED, member, content, _salted_reference(body, digest)


def store_large(body: Body, salt: Salt, redacted: Container[bytes]) -> StoredBody:
    """Plain or salted, as a smaller one would be; its bytes are not copied."""
    data = body.data
    if not body.is_sensitive:
        found = sha256(data).digest()
        if found not in redacted:
            reference = {"bytes": len(data), "digest": found.hex(), "type": body.type}
            return found, PLAIN, partial(large_member, b""), data, reference
    drawn = _drawn(salt)
    digest = large_commitment(drawn, data)
    return bytes.fromhex(digest), SALTED, partial(large_member, drawn), data, _salted_reference(body, digest)


def _drawn(salt: Salt) -> bytes:
    drawn = salt()
    if len(drawn) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes")
    return drawn


def _salted_reference(body: Body, digest: str) -> dict[str, Any]:
    return {"bytes": len(body.data), "digest": digest, "salted": True, "type": body.type}


def read_json(data: bytes) -> Any:
    """The value of a JSON body. Raises a ValueError or a CanonicalError if the bytes are not its RFC 8785 form.

    orjson would read an integer beyond 64 bits as a float, and so hide that it has no canonical form.
    """
    value = json.loads(data.decode())
    if canonical(value) != data:
        raise ValueError("it is not in RFC 8785 form")
    return value


def copy_name(output: str, type_: str) -> str:
    """The name of an answer's copy in `outputs/`."""
    return output + _SUFFIXES.get(type_, ".bin")
