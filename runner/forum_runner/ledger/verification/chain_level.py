"""Level 2: checks each entry against the previous line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from forum_runner.ledger.entries import AnyEntry, may_follow_a_seal
from forum_runner.ledger.entry_decoder import EntryDecoder
from forum_runner.ledger.layout import ZERO_HASH
from forum_runner.ledger.lines import leaf_of
from forum_runner.ledger.verification.bytes_level import check_line
from forum_runner.ledger.verification.report import DamagedLedgerError, LedgerFindings, Violation


class ChainChecker:
    """Checks entries in order, and adds a finding for each broken rule. `is_sealed` is True after the first seal."""

    __slots__ = ("_last_time", "findings", "is_sealed", "run")

    def __init__(self, findings: LedgerFindings) -> None:
        self.findings = findings
        self._last_time = ""
        self.run: str | None = None
        self.is_sealed = False

    def check(self, seq: int, entry: AnyEntry, previous: str) -> None:
        """Checks the entry in line `seq`. `previous` is the hash of the line before it, in hexadecimal digits."""
        at, kind, causes = entry.at, entry.kind, entry.causes
        if self.run is None:
            self.run = entry.run
        if (
            entry.prev != previous
            or entry.seq != seq
            or entry.run != self.run
            or at < self._last_time
            or (causes and (causes[-1] >= seq or (len(causes) > 1 and not _is_ascending(causes))))
            or (kind == "run.opened") != (seq == 0)
            or (self.is_sealed and not may_follow_a_seal(kind))
        ):
            self._report(seq, entry, previous)
        self._last_time = at
        if kind == "run.sealed":
            self.is_sealed = True

    def _report(self, seq: int, entry: AnyEntry, previous: str) -> None:
        add, causes = self.findings.add, entry.causes
        if entry.prev != previous:
            add("L201", seq, _broken_link(seq, entry.prev, previous))
        if entry.seq != seq:
            add("L202", seq, f"'seq' is {entry.seq}, expected {seq}")
        if entry.run != self.run:
            add("L203", seq, f"the entry belongs to run {entry.run}, the first entry to {self.run}")
        if not _is_ascending(causes) or (causes and causes[-1] >= seq):
            add("L204", seq, "'causes' does not list earlier entries in ascending order")
        if entry.at < self._last_time:
            add("L205", seq, f"'at' is {entry.at}, earlier than {self._last_time} in the previous entry")
        if (entry.kind == "run.opened") != (seq == 0):
            add("L206", seq, "the first entry is not run.opened" if seq == 0 else "run.opened is not the first entry")
        if self.is_sealed and not may_follow_a_seal(entry.kind):
            add("L207", seq, f"{entry.kind} may not follow a seal")


def _is_ascending(causes: Sequence[int]) -> bool:
    return all(before < after for before, after in pairwise(causes))


def _broken_link(seq: int, prev: str, previous: str) -> str:
    if seq == 0:
        return "'prev' of the first entry is not 64 zeros"
    found = f"'prev' is {prev[:12]}..., but entry {seq - 1} has the hash {previous[:12]}..."
    return f"{found}: an entry was altered, removed or inserted"


def checked_entries(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, bytes, AnyEntry, bytes]]:
    """Yields the seq, the line, the entry and the hash (as bytes) of each line.

    Raises a DamagedLedgerError, which calls the ledger `name`, if a line fails a check of level 1 or 2.
    """
    decode, chain = EntryDecoder().decode, ChainChecker(LedgerFindings())
    previous = ZERO_HASH
    for seq, line in enumerate(lines):
        try:
            entry = decode(line, previous) or check_line(line)
        except Violation as violation:
            raise DamagedLedgerError(name, violation.at(seq)) from violation
        chain.check(seq, entry, previous)
        if chain.findings.listed:
            raise DamagedLedgerError(name, chain.findings.listed[0])
        leaf = leaf_of(line)
        yield seq, line, entry, leaf
        previous = leaf.hex()
