"""Tells a run again from its record."""

from __future__ import annotations

from dataclasses import dataclass

from forum_runner.app.open_run import check_is_of_a_plan
from forum_runner.errors import UsageError
from forum_runner.execute.replay import Replayer, ReplayResult
from forum_runner.ledger.source import find_ledger
from forum_runner.ledger.verification.report import VerifyReport
from forum_runner.ledger.verification.verified_run import verified_run

CHECKED = (
    "what was handed over, and under which conditions tasks began",
    "the prompts, to the byte, but for the values of secrets",
    "how answers were read, and whether they fit their types",
    "fingerprints, reservations, charges and budgets",
    "retries, climbs, verdicts and ends, and the order of all entries",
)
ASSUMED = (
    "what adapters, programs, judges and people answered, and when",
    "that a program with the recorded digest was what ran",
    "when the run was interrupted, and what was lost",
    "which results of earlier runs were found",
)


@dataclass(frozen=True, slots=True)
class Replayed:
    name: str
    report: VerifyReport
    retold: ReplayResult

    @property
    def is_same(self) -> bool:
        return self.retold.divergence is None and self.retold.is_complete


def replay(run: str) -> Replayed:
    """Re-executes a run under the recorded answers, clock and ids, and compares every entry."""
    source = find_ledger(run)
    directory, report = verified_run(source, "a run is told again from its run directory")
    check_is_of_a_plan(directory)
    if report.redacted:
        raise UsageError("bodies of the run were redacted, so it cannot be told again")
    retelling = Replayer(directory)
    try:
        return Replayed(source.name, report, retelling.tell())
    finally:
        retelling.close()
