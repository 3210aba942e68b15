"""Level 5: seals, and the checkpoints that the ledger must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from forum_runner.ledger.checkpoint import CHECKPOINT_TEXT, PIN, Checkpoint, compare_checkpoint
from forum_runner.ledger.entries import AnyEntry, BodyRedacted, RunSealed
from forum_runner.ledger.merkle import MerkleTree
from forum_runner.ledger.verification.report import ComparedCheckpoint, LedgerFindings


@dataclass(frozen=True, slots=True)
class Expected:
    """A checkpoint that the ledger must agree with. `source` is 'directory', 'given' or 'pin'."""

    source: str
    checkpoint: Checkpoint
    signed_by: str | None = None


class Seals:
    """Builds the Merkle tree, compares the root in each seal, and keeps the roots of the `wanted` sizes."""

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
        """Called for seals, redactions and entries after a seal, before their line is added to the tree."""
        data = entry.data
        self.is_sealed = isinstance(data, RunSealed)
        if isinstance(data, RunSealed):
            self._check_seal(seq, data, findings)
        elif isinstance(data, BodyRedacted):
            self.redacted.add(data.digest)

    def _check_seal(self, seq: int, data: RunSealed, findings: LedgerFindings) -> None:
        if self._sealed is not None and replace(data, root=self._sealed.root) != self._sealed:
            findings.add("L504", seq, "status, counts or totals differ from the previous seal")
        self._sealed = data
        root = self.tree.root().hex()
        if data.root != root:
            findings.add("L505", seq, f"the root in the seal is not the root of the entries before it, {root}")

    @property
    def status(self) -> str | None:
        """The status in the last seal."""
        return None if self._sealed is None else self._sealed.status

    def keep_root(self) -> None:
        self._roots[self.tree.size] = self.tree.root()

    def compare(self, run: str, findings: LedgerFindings) -> list[ComparedCheckpoint]:
        """The checkpoints that agree with the ledger. Each of the others is a finding."""
        held = []
        for item in self._expected:
            root = self._roots.get(item.checkpoint.size)
            what = PIN if item.source == PIN else CHECKPOINT_TEXT
            fault = compare_checkpoint(item.checkpoint, run, self.tree.size, root, what)
            if fault is None:
                held.append(ComparedCheckpoint(item.source, item.checkpoint.size, item.signed_by))
            else:
                findings.add(fault.code, fault.seq, fault.sentence)
        return held
