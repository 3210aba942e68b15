"""Reads the history of a run from its ledger."""

from __future__ import annotations

from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.lines import leaf_of, length_of
from forum_runner.ledger.read_entry import read_entry
from forum_runner.ledger.recognition import ledger_lines
from forum_runner.ledger.source import LedgerSource


def read_history(source: LedgerSource) -> RunHistory:
    """Reads all entries of a ledger. Lines that are not entries are counted, so a damaged ledger has a history too."""
    history = RunHistory()
    line = None
    with source.lines() as lines:
        for number, line in enumerate(ledger_lines(lines, source)):
            entry = read_entry(line)
            if entry is None:
                history.skip_line(number)
            else:
                history.apply(entry)
        history.torn_bytes = length_of(lines.torn)
    history.head = leaf_of(line).hex() if line is not None else ""
    return history
