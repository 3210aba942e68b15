"""Level 3: check that the archive contains exactly the bodies that entries refer to."""

from collections import defaultdict
from typing import BinaryIO

from forum_conformance.archive import Archive, Member, Rest
from forum_conformance.body_references import Body, BodyReferences
from forum_conformance.finding import Findings


class Store:
    """The members of an archive, looked up by the references of entries.

    Ignores redaction entries: a body with an intact member can be read even if an entry records its redaction.
    """

    def __init__(self, archive: Archive, stream: BinaryIO) -> None:
        self._stream = stream
        self._members: dict[str, list[Member]] = defaultdict(list)
        for member in archive.members:
            if member.folder_and_digest:
                self._members[member.folder_and_digest[1]].append(member)

    def members(self, digest: str) -> list[Member]:
        return self._members.get(digest, [])

    def plain_digest(self, body: Body) -> str | None:
        """The SHA-256 of the body's bytes; None if it is redacted, missing or altered."""
        member = self._intact_member(body)
        return member.plain_digest if member else None

    def read(self, body: Body) -> bytes | None:
        """The body's bytes; None if it is redacted, missing or altered."""
        member = self._intact_member(body)
        if member is None:
            return None
        self._stream.seek(member.offset + member.size - body.size)
        return self._stream.read(body.size)

    def read_salt(self, body: Body) -> bytes | None:
        """The body's salt, empty for a plain body; None if the body is redacted, missing or altered."""
        member = self._intact_member(body)
        if member is None:
            return None
        self._stream.seek(member.offset)
        return self._stream.read(member.size - body.size)

    def _intact_member(self, body: Body) -> Member | None:
        return next((member for member in self.members(body.digest) if not fault_of(member, body)), None)


def fault_of(member: Member, body: Body) -> str | None:
    """Why the member does not contain the body; None if it does."""
    if member.folder_and_digest != (body.folder, body.digest):
        return f"is not in {body.folder}/"
    if member.size != body.member_size:
        return f"has {member.size} bytes instead of {body.member_size}"
    return None if member.content_digest == body.digest else "does not match the digest in its name"


def is_broken(archive: Archive, store: Store, references: BodyReferences) -> bool:
    """Whether the archive becomes unreadable before the last body that an entry refers to."""
    return archive.rest is Rest.OTHER and not all(store.members(digest) for digest in references.first)


def check_members(
    archive: Archive, store: Store, references: BodyReferences, findings: Findings, *, ends_with_seal: bool
) -> None:
    for digest, body in references.first.items():
        candidates = store.members(digest)
        if not candidates:
            findings.add("L302", body.seq, f"the body {digest} has no member in bodies.tar")
        for member in candidates:
            _check_member(member, body, references, findings)
    members = _members_up_to_last_referenced(archive, references)
    for member in members:
        if not _is_referenced(member, references):
            findings.add("L304", None, f"no entry refers to the member {member.name!a}")
    end = members[-1].end if members else 0
    if archive.stopped_at != end or archive.rest is Rest.OTHER:
        findings.add("L310", None, f"bodies.tar has a torn tail from byte {end} on")
    elif ends_with_seal and archive.rest is Rest.NOTHING:
        findings.add("L310", None, "the ledger is sealed, but the end of bodies.tar is missing")


def _check_member(member: Member, body: Body, references: BodyReferences, findings: Findings) -> None:
    is_recorded = body.digest in references.redacted
    if member.name.startswith("redacted/"):
        if not is_recorded:
            findings.add("L307", body.seq, f"{member.name} exists, but no entry records the redaction")
        if member.size != body.member_size or not member.is_all_zeros:
            findings.add("L303", body.seq, f"{member.name} does not consist of {body.member_size} zero bytes")
    elif is_recorded:
        findings.add("L306", body.seq, f"{body.digest} is recorded as redacted, but {member.name} still exists")
    elif fault := fault_of(member, body):
        findings.add("L303", body.seq, f"{member.name} {fault}")


def _is_referenced(member: Member, references: BodyReferences) -> bool:
    return member.folder_and_digest is not None and member.folder_and_digest[1] in references.first


def _members_up_to_last_referenced(archive: Archive, references: BodyReferences) -> tuple[Member, ...]:
    """All members up to the last one that an entry refers to.

    Members after it were written for an entry that was never appended.
    """
    members = list(archive.members)
    while members and not _is_referenced(members[-1], references):
        members.pop()
    return tuple(members)


def check_order(archive: Archive, references: BodyReferences, findings: Findings) -> None:
    """Check that members are in the order of the references, without duplicates.

    Call this only if level 3 has no other findings: then every member belongs to a body that an entry refers to.
    """
    expected = iter(references.first)
    seen: set[str] = set()
    for member in _members_up_to_last_referenced(archive, references):
        digest = member.folder_and_digest[1] if member.folder_and_digest else ""
        if digest in seen:
            findings.add("L305", None, f"{digest} has two members")
        elif digest != next(expected):
            findings.add("L305", references.first[digest].seq, f"{member.name} is out of order")
            return
        seen.add(digest)
