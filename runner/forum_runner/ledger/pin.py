"""The rules of a pin: the checkpoint that a verifier keeps of what it last called valid."""

from __future__ import annotations

from forum_runner.ledger.checkpoint import Checkpoint
from forum_runner.ledger.verification.report import LedgerFinding

PIN_CODES = frozenset({"L512", "L513"})


def compare_pin(pin: Checkpoint, run: str, size: int, root: bytes | None) -> LedgerFinding | None:
    """Whether a ledger has only grown since; `root` is that of its first `pin.size` entries, if it has so many."""
    if pin.run != run:
        return LedgerFinding("L507", None, f"the pin is of the run {pin.run}, not {run}")
    if pin.size > size:
        return LedgerFinding("L512", None, f"the pin has {pin.size} entries, and the ledger {size}")
    if pin.root != root:
        return LedgerFinding("L513", None, f"the pin's root is not that of the first {pin.size} entries")
    return None
