"""Reopens the ledger of a run. A deterministic run has its own clock and salts."""

from __future__ import annotations

import hashlib
from itertools import count
from pathlib import Path

from forum_runner.errors import UsageError
from forum_runner.ledger.begin import open_ledger
from forum_runner.ledger.clock import Clock
from forum_runner.ledger.files import Durability
from forum_runner.ledger.layout import LEDGER
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.recovery import EntryObserver
from forum_runner.ledger.run_reader import mode_of, read_entries
from forum_runner.ledger.writer import LedgerWriter

DETERMINISTIC = "deterministic"


def open_run(directory: Path) -> LedgerWriter:
    """Opens the ledger to add an entry by a person, which takes no time in a deterministic run."""
    if mode_of(directory) != DETERMINISTIC:
        return open_ledger(directory)
    # Times never decrease: an entry whose clock is behind gets the time of the previous one.
    return open_deterministic_ledger(directory, durability=Durability.EACH, clock=lambda: 0)


def check_has_entry(directory: Path) -> None:
    """Raises if the ledger is empty: a start that was killed may leave it so."""
    if not (directory / LEDGER).stat().st_size:
        raise UsageError(f"the ledger in '{directory}' has no entry: no run has started there")


def opening_entry(directory: Path) -> ReadEntry:
    """The first entry of a run. Raises if it has no plan: the ledger was imported, or written by another program."""
    check_has_entry(directory)
    opened = next(read_entries(directory), None)
    if opened is None or "wave_plan" not in opened.bodies:
        raise UsageError(f"'{directory}' is not a run of a workflow: its ledger has no wave plan")
    return opened


def open_deterministic_ledger(
    directory: Path, *, durability: Durability, clock: Clock, observe: EntryObserver | None = None
) -> LedgerWriter:
    """Opens the ledger of a deterministic run, whose salts are derived from the run's id."""
    numbers = count()

    def salt() -> bytes:
        return virtual_salt(writer.run, f"resumed/{writer.size}/{next(numbers)}")

    writer = open_ledger(directory, durability=durability, clock=clock, salt=salt, observe=observe)
    return writer


def virtual_salt(run: str, number: str) -> bytes:
    return hashlib.sha256(f"forum:salt:{run}/{number}".encode()).digest()
