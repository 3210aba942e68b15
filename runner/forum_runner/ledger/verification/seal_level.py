"""Level 5: checks the seals, and compares the ledger with checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from forum_runner.ledger.checkpoint import CHECKPOINT_LABEL, PIN, Checkpoint, compare_checkpoint
from forum_runner.ledger.entries import AnyEntry, BodyRedacted, RunSealed
from forum_runner.ledger.merkle import MerkleTree
from forum_runner.ledger.verification.report import ComparedCheckpoint, LedgerFindings


@dataclass(frozen=True, slots=True)
class ExpectedCheckpoint:
    """A checkpoint that the ledger must agree with. `source` is 'directory' (the run's), 'given' or 'pin'."""

    source: str
    checkpoint: Checkpoint
    signed_by: str | None = None


class SealChecker:
    """Builds the Merkle tree, and compares its root with each seal and each expected checkpoint.

    `sizes` are the numbers of entries for which the root is needed. `is_sealed` is True if the last entry is a seal.
    """

    __slots__ = ("_expected", "_last_seal", "_roots", "is_sealed", "redacted", "sizes", "tree")

    def __init__(self, expected: Sequence[ExpectedCheckpoint]) -> None:
        self.tree = MerkleTree()
        self.is_sealed = False
        self.redacted: set[str] = set()
        self._last_seal: RunSealed | None = None
        self._expected = expected
        self.sizes = {item.checkpoint.size for item in expected}
        self._roots: dict[int, bytes] = {0: self.tree.root()}

    def check(self, seq: int, entry: AnyEntry, findings: LedgerFindings) -> None:
        """Checks a seal, and counts a redaction. Call it before the line is added to the tree."""
        data = entry.data
        self.is_sealed = isinstance(data, RunSealed)
        if isinstance(data, RunSealed):
            self._check_seal(seq, data, findings)
        elif isinstance(data, BodyRedacted):
            self.redacted.add(data.digest)

    def _check_seal(self, seq: int, data: RunSealed, findings: LedgerFindings) -> None:
        if self._last_seal is not None and replace(data, root=self._last_seal.root) != self._last_seal:
            findings.add("L504", seq, "status, counts or totals differ from the previous seal")
        self._last_seal = data
        root = self.tree.root().hex()
        if data.root != root:
            findings.add("L505", seq, f"the root in the seal is not the root of the entries before it, {root}")

    @property
    def status(self) -> str | None:
        """The status in the last seal; None without a seal."""
        return None if self._last_seal is None else self._last_seal.status

    def keep_root(self) -> None:
        self._roots[self.tree.size] = self.tree.root()

    def compare(self, run: str, findings: LedgerFindings) -> list[ComparedCheckpoint]:
        """Returns the checkpoints that agree with the ledger, and adds a finding for each of the others."""
        agreeing = []
        for item in self._expected:
            root = self._roots.get(item.checkpoint.size)
            label = PIN if item.source == PIN else CHECKPOINT_LABEL
            finding = compare_checkpoint(item.checkpoint, run, self.tree.size, root, label)
            if finding is None:
                agreeing.append(ComparedCheckpoint(item.source, item.checkpoint.size, item.signed_by))
            else:
                findings.add(finding.code, finding.seq, finding.sentence)
        return agreeing
