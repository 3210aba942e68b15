"""Level 5: the seals, and the checkpoints that a ledger is held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from forum_runner.ledger.checkpoint import Checkpoint, compare_checkpoint
from forum_runner.ledger.entries import AnyEntry, BodyRedacted, RunSealed
from forum_runner.ledger.merkle import MerkleTree
from forum_runner.ledger.pin import compare_pin
from forum_runner.ledger.verification.report import ComparedCheckpoint, LedgerFindings

PIN = "pin"


@dataclass(frozen=True, slots=True)
class Expected:
    """A checkpoint that the ledger is to agree with; `source` is 'directory', 'given' or 'pin'."""

    source: str
    checkpoint: Checkpoint
    signed_by: str | None = None


class Seals:
    """Follows the Merkle tree: a seal's root is that of the entries before it, and roots at wanted sizes are kept."""

    __slots__ = ("_expected", "_roots", "_sealed", "is_sealed", "redacted", "tree", "wanted")

    def __init__(self, expected: Sequence[Expected]) -> None:
        self.tree = MerkleTree()
        self.is_sealed = False
        self.redacted: set[str] = set()
        self._sealed: RunSealed | None = None
        self._expected = expected
        self.wanted = {item.checkpoint.size for item in expected}
        self._roots: dict[int, bytes] = {0: self.tree.root()}

    def observe(self, seq: int, entry: AnyEntry, findings: LedgerFindings) -> None:
        """For seals, redactions, and whatever follows a seal: before the entry's own line is added to the tree."""
        data = entry.data
        self.is_sealed = isinstance(data, RunSealed)
        if isinstance(data, RunSealed):
            self._check_seal(seq, data, findings)
        elif isinstance(data, BodyRedacted):
            self.redacted.add(data.digest)

    def _check_seal(self, seq: int, data: RunSealed, findings: LedgerFindings) -> None:
        if self._sealed is not None and replace(data, root=self._sealed.root) != self._sealed:
            findings.add("L504", seq, "the seal's status, counts or totals differ from those of the previous seal")
        self._sealed = data
        root = self.tree.root().hex()
        if data.root != root:
            findings.add("L505", seq, f"the seal's root is not that of the entries before it, {root}")

    @property
    def status(self) -> str | None:
        """The status in the last seal."""
        return None if self._sealed is None else self._sealed.status

    def keep_root(self) -> None:
        self._roots[self.tree.size] = self.tree.root()

    def compare(self, run: str, findings: LedgerFindings) -> list[ComparedCheckpoint]:
        """The checkpoints that hold; each of the others is a finding."""
        held = []
        for item in self._expected:
            compare = compare_pin if item.source == PIN else compare_checkpoint
            fault = compare(item.checkpoint, run, self.tree.size, self._roots.get(item.checkpoint.size))
            if fault is None:
                held.append(ComparedCheckpoint(item.source, item.checkpoint.size, item.signed_by))
            else:
                findings.add(fault.code, fault.seq, fault.sentence)
        return held
