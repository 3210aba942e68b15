"""The bodies that entries refer to, in order of their first reference, and the redacted ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forum_runner.ledger.entries import AnyEntry, BodyRedacted

_SIZE_BITS = 54
RULE_MESSAGES = {
    "L303": "a body's size or 'salted' flag differs from its first reference",
    "L309": "the entry redacts a body that is unknown or already redacted, or refers to a redacted body",
}


@dataclass(frozen=True, slots=True)
class FirstReference:
    """The first reference to a body."""

    seq: int
    size: int
    is_salted: bool


class BodyIndex:
    """Maps each digest to its first reference, packed into one integer, as a ledger may have millions of bodies.

    `redacted` maps each redacted digest to the seq of the redaction.
    """

    __slots__ = ("_references", "redacted")

    def __init__(self) -> None:
        # From the highest bit: the seq, the size in `_SIZE_BITS` bits, and one bit that is set if the body is salted.
        self._references: dict[bytes, int] = {}
        self.redacted: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._references)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._references)

    def first_reference(self, digest: bytes) -> FirstReference | None:
        """The first reference to a body; None if no entry refers to it."""
        packed = self._references.get(digest)
        if packed is None:
            return None
        return FirstReference(packed >> (_SIZE_BITS + 1), packed >> 1 & (1 << _SIZE_BITS) - 1, bool(packed & 1))

    def digests_with_sizes(self) -> Iterator[tuple[bytes, int, int]]:
        """Each digest in order, with the size of its body and whether it is salted (1 or 0)."""
        mask = (1 << _SIZE_BITS) - 1
        for digest, packed in self._references.items():
            yield digest, packed >> 1 & mask, packed & 1

    def add(self, seq: int, entry: AnyEntry) -> list[str]:
        """Adds the bodies of an entry, and returns the codes of the rules that the entry breaks."""
        codes: list[str] = []
        references, redacted = self._references, self.redacted
        redacted_digest = bytes.fromhex(entry.data.digest) if isinstance(entry.data, BodyRedacted) else None
        if redacted_digest is not None and (redacted_digest in redacted or redacted_digest not in references):
            codes.append("L309")
        for body in entry.bodies.values():
            digest = bytes.fromhex(body.digest)
            size_and_salt = body.bytes << 1 | (body.salted is not None)
            packed = references.setdefault(digest, seq << (_SIZE_BITS + 1) | size_and_salt)
            if packed & (1 << (_SIZE_BITS + 1)) - 1 != size_and_salt:
                codes.append("L303")
            if redacted and digest in redacted:
                codes.append("L309")
        if redacted_digest is not None:
            redacted.setdefault(redacted_digest, seq)
        return codes
