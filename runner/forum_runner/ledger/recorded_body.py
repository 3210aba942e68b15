"""Bodies of a ledger. Their bytes stay in the archive until they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, BinaryIO

from forum_runner.errors import UsageError
from forum_runner.ledger.body import Body
from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entry_values import BodyReference
from forum_runner.ledger.read_entry import ReadEntry, body_reference


class RedactedBodyError(UsageError):
    """A body that is needed was redacted."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(f"body {digest} was redacted")


@dataclass(frozen=True, slots=True)
class RecordedBody:
    """A body of a ledger, which reads its bytes from the archive on each access."""

    reference: BodyReference
    reader: BodyReader

    @property
    def digest(self) -> str:
        return self.reference.digest

    @property
    def type(self) -> str:
        return self.reference.type

    @property
    def is_sensitive(self) -> bool:
        return self.reference.salted is not None

    @property
    def data(self) -> bytes:
        """The bytes. Raises a RedactedBodyError if they were redacted."""
        content = self.reader.read(self.reference)
        if content is None:
            raise RedactedBodyError(self.digest)
        return content


# A body before or after it is recorded.
AnyBody = Body | RecordedBody


class RecordedBodies:
    """The bodies of a verified ledger."""

    def __init__(self, stream: BinaryIO) -> None:
        self.reader = BodyReader(stream)

    def body(self, reference: Mapping[str, Any]) -> RecordedBody:
        return RecordedBody(body_reference(reference), self.reader)

    def of_entry(self, entry: ReadEntry) -> dict[str, RecordedBody]:
        return {name: self.body(reference) for name, reference in entry.bodies.items()}


def bytes_or_empty(body: AnyBody | None) -> bytes:
    """The bytes of a body; empty if it is absent or was redacted."""
    try:
        return b"" if body is None else body.data
    except RedactedBodyError:
        return b""


def body_digest(body: AnyBody) -> str:
    """The digest of a recorded body, or of the bytes of a body that is not recorded yet."""
    return sha256(body.data).hexdigest() if isinstance(body, Body) else body.digest


def content_digest(body: AnyBody) -> str:
    """The digest of the bytes of a body, without a salt; empty if a sensitive body is empty or was redacted."""
    if isinstance(body, Body) or not body.is_sensitive:
        return body_digest(body)
    content = bytes_or_empty(body)
    return sha256(content).hexdigest() if content else ""


def check_not_redacted(body: AnyBody) -> None:
    """Raises a RedactedBodyError if the body was redacted after it was recorded."""
    _ = body.data
