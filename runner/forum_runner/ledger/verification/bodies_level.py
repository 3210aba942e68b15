"""Level 3: compares the archive with the bodies that entries refer to."""

from __future__ import annotations

import hashlib
import re
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from forum_runner.errors import UsageError
from forum_runner.ledger.archive import (
    BLOCK,
    END_OF_ARCHIVE,
    PLAIN,
    REDACTED,
    SALT_BYTES,
    SALTED,
    Archive,
    Member,
    commitment,
    header,
    padding,
)
from forum_runner.ledger.body_index import BodyIndex, FirstReference
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.verification.report import LedgerFindings

_BUFFER_BYTES = 1 << 20
_ZEROS = bytes(BLOCK)
_FOLDERS = (PLAIN, SALTED, REDACTED)
_DIGEST = re.compile("[0-9a-f]{64}")


class UnreadableArchive(Exception):
    """L301: the archive cannot be read up to the last body that an entry refers to."""


def check_bodies(index: BodyIndex, path: Path, findings: LedgerFindings, *, is_sealed: bool) -> int:
    """Checks the archive in one pass, and returns the end of the last member that an entry refers to.

    A quick comparison comes first: most archives have exactly the bytes that the entries imply.
    """
    if not path.is_file():
        raise UnreadableArchive(f"{BODIES} is missing or not a regular file")
    try:
        stream = path.open("rb", _BUFFER_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    with stream:
        if _is_as_expected(index, stream, is_sealed=is_sealed):
            return stream.tell() - (len(END_OF_ARCHIVE) if is_sealed else 0)
        stream.seek(0)
        archive = Archive(stream)
        comparison = _Comparison(index, findings)
        for member in archive.members():
            comparison.compare(member)
    if archive.is_torn and not comparison.is_complete:
        raise UnreadableArchive(f"{BODIES} is not a ustar archive from byte {archive.end} on")
    comparison.finish()
    end = comparison.referenced_end
    if archive.is_torn or comparison.unreferenced:
        findings.add("L310", None, f"{BODIES} has data from byte {end} on that no entry refers to")
    elif is_sealed and not archive.has_end_marker:
        findings.add("L310", None, f"the ledger is sealed, but {BODIES} lacks the end-of-archive marker")
    return end


def _is_as_expected(index: BodyIndex, stream: BinaryIO, *, is_sealed: bool) -> bool:
    """Whether the archive has exactly the expected bodies, in order, and none is redacted.

    Also False if a body is too large for this comparison, which holds one body at a time in memory.
    """
    if index.redacted:
        return False
    read = stream.read
    for digest, size, is_salted in index.digests_with_sizes():
        name = f"{SALTED if is_salted else PLAIN}/{digest.hex()}".encode()
        length = size + SALT_BYTES if is_salted else size
        if length > _BUFFER_BYTES or read(BLOCK) != header(name, length):
            return False
        stored = read(length + padding(length))
        content = stored[:length]
        if stored[length:] != _ZEROS[: padding(length)]:
            return False
        computed = bytes.fromhex(commitment(content)) if is_salted else hashlib.sha256(content).digest()
        if computed != digest:
            return False
    rest = read(len(END_OF_ARCHIVE) + 1)
    return rest == END_OF_ARCHIVE if is_sealed else not rest


class _Comparison:
    """Compares the members of an archive, in order, with the bodies that entries refer to.

    `referenced_end` is the end of the last member that an entry refers to; `unreferenced` are the members after it.
    """

    def __init__(self, index: BodyIndex, findings: LedgerFindings) -> None:
        self._index = index
        self._findings = findings
        self._expected = iter(index)
        self._in_order = 0
        # None, to save memory, as long as the members are in the order in which entries refer to them.
        self._found: dict[bytes, None] | None = None
        # Held until the whole archive is read: if it is unreadable, only that is reported.
        self._held = LedgerFindings()
        self._repeated: str | None = None
        self.referenced_end = 0
        self.unreferenced: list[str] = []

    @property
    def is_complete(self) -> bool:
        return (self._in_order if self._found is None else len(self._found)) == len(self._index)

    def compare(self, member: Member) -> None:
        digest = _digest_in_name(member)
        first = self._index.first_reference(digest) if digest is not None else None
        if digest is None or first is None:
            self.unreferenced.append(member.name)
            return
        for name in self.unreferenced:
            self._held.add("L304", None, f"no entry refers to the member {name!r} of {BODIES}")
        self.unreferenced.clear()
        self.referenced_end = member.end
        if not self._is_new(digest):
            self._repeated = self._repeated or member.named_digest
        self._check(member, digest, first)

    def _is_new(self, digest: bytes) -> bool:
        """Whether the digest occurs for the first time."""
        if self._found is None:
            if next(self._expected, None) == digest:
                self._in_order += 1
                return True
            self._found = dict.fromkeys(islice(self._index, self._in_order))
        if digest in self._found:
            return False
        self._found[digest] = None
        return True

    def _check(self, member: Member, digest: bytes, first: FirstReference) -> None:
        name, is_redacted = member.named_digest, digest in self._index.redacted
        size = first.size + (SALT_BYTES if first.is_salted else 0)
        if member.folder == REDACTED:
            if not is_redacted:
                self._held.add("L307", first.seq, f"body {name} is redacted, but no entry records the redaction")
            if member.size != size or not member.is_zero:
                self._held.add("L303", first.seq, f"redacted body {name} is not all zeros, or has the wrong size")
            return
        if is_redacted:
            self._held.add("L306", first.seq, f"body {name} is recorded as redacted, but its bytes still exist")
        elif member.digest != name:
            self._held.add("L303", first.seq, f"the bytes of body {name} do not match its digest")
        elif member.size != size:
            self._held.add("L303", first.seq, f"body {name} has {member.size} bytes; {size} are recorded")
        elif (member.folder == SALTED) != first.is_salted:
            self._held.add("L303", first.seq, f"body {name} is in the wrong folder, '{member.folder}/'")

    def finish(self) -> None:
        if not self.is_complete:
            found_digests = (
                self._found if self._found is not None else dict.fromkeys(islice(self._index, self._in_order))
            )
            for digest in self._index:
                first = self._index.first_reference(digest)
                if digest not in found_digests and first is not None:
                    self._held.add("L302", first.seq, f"body {digest.hex()} is missing from {BODIES}")
        self._findings.extend(self._held)
        if not self._findings.has(3):
            self._check_order()

    def _check_order(self) -> None:
        if self._repeated is not None:
            self._findings.add("L305", None, f"{BODIES} has body {self._repeated} twice")
        for expected, actual in zip(self._index, self._found or (), strict=False):
            first = self._index.first_reference(actual)
            if expected != actual and first is not None:
                self._findings.add("L305", first.seq, f"body {actual.hex()} is out of order in {BODIES}")
                return


def _digest_in_name(member: Member) -> bytes | None:
    """The digest in a member's name; None if the name is not a known folder and a digest."""
    is_digest = member.folder in _FOLDERS and _DIGEST.fullmatch(member.named_digest)
    return bytes.fromhex(member.named_digest) if is_digest else None
