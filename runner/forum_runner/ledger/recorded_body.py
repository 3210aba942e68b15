"""Bodies that a ledger holds. Their bytes stay in the archive until they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, BinaryIO

from forum_runner.errors import UsageError
from forum_runner.ledger.body import Body
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.read_entry import ReadEntry


class RedactedBodyError(UsageError):
    """A body that is needed was redacted."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(f"body {digest} was redacted")


@dataclass(frozen=True, slots=True)
class RecordedBody:
    digest: str
    type: str
    is_sensitive: bool
    read: Callable[[], bytes]

    @property
    def data(self) -> bytes:
        """The bytes; a RedactedBodyError if they were redacted."""
        return self.read()


# A body that is about to be recorded, or that was.
StoredBytes = Body | RecordedBody


class RecordedBodies:
    """The bodies of a ledger that was verified."""

    def __init__(self, stream: BinaryIO) -> None:
        self.reader = BodyReader(stream)

    def body(self, reference: Mapping[str, Any]) -> RecordedBody:
        known = dict(reference)
        return RecordedBody(known["digest"], known["type"], "salted" in known, lambda: self._read(known))

    def of(self, entry: ReadEntry) -> dict[str, RecordedBody]:
        return {name: self.body(reference) for name, reference in entry.bodies.items()}

    def _read(self, reference: dict[str, Any]) -> bytes:
        found = self.reader.read(reference)
        if found is None:
            raise RedactedBodyError(reference["digest"])
        return found


def bytes_left(body: StoredBytes | None) -> bytes:
    """The bytes of an optional body; none if it is absent or was redacted."""
    try:
        return b"" if body is None else body.data
    except RedactedBodyError:
        return b""


def body_digest(body: StoredBytes) -> str:
    """The digest of a recorded body, or of a plain one that is about to be recorded."""
    return sha256(body.data).hexdigest() if isinstance(body, Body) else body.digest


def content_digest(body: StoredBytes) -> str:
    """Like `body_digest`, and the same for a body that was recorded with a salt; empty for a redacted one."""
    if isinstance(body, Body) or not body.is_sensitive:
        return body_digest(body)
    content = bytes_left(body)
    return sha256(content).hexdigest() if content else ""


def check_not_redacted(body: StoredBytes) -> None:
    """A RedactedBodyError if the body was redacted after it was recorded."""
    if isinstance(body, RecordedBody):
        body.read()
