"""The bodies that entries refer to, in order of their first reference, and the redacted ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forum_runner.ledger.entries import AnyEntry, BodyRedacted

_SIZE_BITS = 54


@dataclass(frozen=True, slots=True)
class BodyUse:
    """The first reference to a body."""

    seq: int
    bytes: int
    salted: bool


class BodyIndex:
    """Packs each reference into one integer: this index is all that grows with the size of a ledger."""

    __slots__ = ("_named", "redacted")

    def __init__(self) -> None:
        self._named: dict[bytes, int] = {}
        self.redacted: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._named)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._named)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._named

    def first_use(self, digest: bytes) -> BodyUse | None:
        packed = self._named.get(digest)
        if packed is None:
            return None
        return BodyUse(packed >> (_SIZE_BITS + 1), packed >> 1 & (1 << _SIZE_BITS) - 1, bool(packed & 1))

    def expected(self) -> Iterator[tuple[bytes, int, int]]:
        """Each digest in order, with its size, and 1 if it is salted."""
        mask = (1 << _SIZE_BITS) - 1
        for digest, packed in self._named.items():
            yield digest, packed >> 1 & mask, packed & 1

    def observe(self, seq: int, entry: AnyEntry) -> list[str]:
        """Adds the bodies of an entry, and returns the codes of the rules that the entry breaks."""
        codes: list[str] = []
        named, redacted = self._named, self.redacted
        gone = bytes.fromhex(entry.data.digest) if isinstance(entry.data, BodyRedacted) else None
        if gone is not None and (gone in redacted or gone not in named):
            codes.append("L309")
        for body in entry.bodies.values():
            digest = bytes.fromhex(body.digest)
            facts = body.bytes << 1 | (body.salted is not None)
            packed = named.setdefault(digest, seq << (_SIZE_BITS + 1) | facts)
            if packed & (1 << (_SIZE_BITS + 1)) - 1 != facts:
                codes.append("L303")
            if redacted and digest in redacted:
                codes.append("L309")
        if gone is not None:
            redacted.setdefault(gone, seq)
        return codes
