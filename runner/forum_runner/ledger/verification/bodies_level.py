"""Level 3: the archive against what the entries name, and the copies against the bodies."""

from __future__ import annotations

import hashlib
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from forum_runner.errors import UsageError
from forum_runner.ledger.archive import (
    BLOCK,
    END,
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
from forum_runner.ledger.body_index import BodyIndex, Naming
from forum_runner.ledger.layout import BODIES
from forum_runner.ledger.verification.report import LedgerFindings

_BUFFER_BYTES = 1 << 20
_ZEROS = bytes(BLOCK)
_FOLDERS = (PLAIN, SALTED, REDACTED)


class UnreadableArchive(Exception):
    """The archive cannot be read up to the last body that an entry names: L301."""


def check_bodies(index: BodyIndex, path: Path, findings: LedgerFindings, *, is_sealed: bool) -> int:
    """One pass over the archive; where the last member that an entry names ends comes back.

    An archive that is, byte for byte, the expected one is looked at in a shorter way.
    """
    if not path.is_file():
        raise UnreadableArchive(f"{BODIES} is not there, or is no regular file")
    try:
        stream = path.open("rb", _BUFFER_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    with stream:
        if _is_as_expected(index, stream, is_sealed=is_sealed):
            return stream.tell() - (len(END) if is_sealed else 0)
        stream.seek(0)
        archive = Archive(stream)
        comparison = _Comparison(index, findings)
        for member in archive.members():
            comparison.look(member)
    if archive.is_torn and not comparison.is_complete:
        raise UnreadableArchive(f"{BODIES} does not have the form of a ustar archive from byte {archive.end} on")
    comparison.finish()
    if archive.is_torn or comparison.has_unnamed_tail:
        where = comparison.named_end
        findings.add("L310", None, f"{BODIES} has a tail that no entry names, from byte {where} on")
    elif is_sealed and not archive.is_ended:
        findings.add("L310", None, f"the ledger is sealed, and {BODIES} lacks the end of an archive")
    return comparison.named_end


def _is_as_expected(index: BodyIndex, stream: BinaryIO, *, is_sealed: bool) -> bool:
    """Whether the archive holds just the bodies that are named, in order, each as it should be, none redacted."""
    if index.redacted:
        return False
    read = stream.read
    for digest, size, is_salted in index.expected():
        name = b"%b/%b" % (b"salted" if is_salted else b"sha256", digest.hex().encode())
        length = size + SALT_BYTES if is_salted else size
        if length > _BUFFER_BYTES or read(BLOCK) != header(name, length):
            return False
        stored = read(length + padding(length))
        content = stored[:length]
        if stored[length:] != _ZEROS[: padding(length)]:
            return False
        found = bytes.fromhex(commitment(content)) if is_salted else hashlib.sha256(content).digest()
        if found != digest:
            return False
    rest = read(len(END) + 1)
    return rest == END if is_sealed else not rest


class _Comparison:
    """`_found` is None while the n-th member is the n-th digest that entries name."""

    def __init__(self, index: BodyIndex, findings: LedgerFindings) -> None:
        self._index = index
        self._findings = findings
        self._expected = iter(index)
        self._in_order = 0
        self._found: dict[bytes, None] | None = None
        self._unnamed: list[str] = []
        # LedgerFindings wait until it is known that the archive can be read at all.
        self._held = LedgerFindings()
        self._repeated: str | None = None
        self.named_end = 0

    @property
    def is_complete(self) -> bool:
        return (self._in_order if self._found is None else len(self._found)) == len(self._index)

    @property
    def has_unnamed_tail(self) -> bool:
        return bool(self._unnamed)

    def look(self, member: Member) -> None:
        digest = _named_digest(member)
        naming = self._index.naming(digest) if digest is not None else None
        if digest is None or naming is None:
            self._unnamed.append(member.name)
            return
        for name in self._unnamed:
            self._held.add("L304", None, f"no entry names the member {name!r} of {BODIES}")
        self._unnamed.clear()
        self.named_end = member.end
        if not self._takes_its_place(digest):
            self._repeated = self._repeated or member.named
        self._check(member, digest, naming)

    def _takes_its_place(self, digest: bytes) -> bool:
        """Whether the digest is seen for the first time."""
        if self._found is None:
            if next(self._expected, None) == digest:
                self._in_order += 1
                return True
            self._found = dict.fromkeys(islice(self._index, self._in_order))
        if digest in self._found:
            return False
        self._found[digest] = None
        return True

    def _check(self, member: Member, digest: bytes, naming: Naming) -> None:
        is_redacted = digest in self._index.redacted
        size = naming.bytes + (SALT_BYTES if naming.salted else 0)
        if member.folder == REDACTED:
            if not is_redacted:
                self._held.add("L307", naming.seq, f"the body {member.named} is redacted, and no entry says so")
            if member.size != size or not member.is_zero:
                self._held.add(
                    "L303", naming.seq, f"the redacted body {member.named} is not as many zeros as it had bytes"
                )
            return
        if is_redacted:
            self._held.add("L306", naming.seq, f"the body {member.named} is recorded as redacted, and is still there")
        elif member.digest != member.named:
            self._held.add("L303", naming.seq, f"the bytes of the body {member.named} have another digest")
        elif member.size != size:
            self._held.add(
                "L303", naming.seq, f"the body {member.named} has {member.size} bytes, and {size} are recorded"
            )
        elif (member.folder == SALTED) != naming.salted:
            self._held.add("L303", naming.seq, f"the body {member.named} stands in '{member.folder}/'")

    def finish(self) -> None:
        if not self.is_complete:
            found = self._found if self._found is not None else dict.fromkeys(islice(self._index, self._in_order))
            for digest in self._index:
                naming = self._index.naming(digest)
                if digest not in found and naming is not None:
                    self._held.add("L302", naming.seq, f"the body {digest.hex()} is missing from {BODIES}")
        self._findings.take(self._held)
        if not self._findings.has(3):
            self._check_order()

    def _check_order(self) -> None:
        if self._repeated is not None:
            self._findings.add("L305", None, f"{BODIES} has the body {self._repeated} twice")
        for expected, found in zip(self._index, self._found or (), strict=False):
            naming = self._index.naming(found)
            if expected != found and naming is not None:
                sentence = f"the body {found.hex()} is out of place in {BODIES}"
                self._findings.add("L305", naming.seq, sentence)
                return


def _named_digest(member: Member) -> bytes | None:
    folder, _, name = member.name.partition("/")
    if folder not in _FOLDERS or len(name) != 2 * hashlib.sha256().digest_size:
        return None
    try:
        digest = bytes.fromhex(name)
    except ValueError:
        return None
    return digest if digest.hex() == name else None
