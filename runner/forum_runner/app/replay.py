"""Replays a run from its ledger."""

from __future__ import annotations

from dataclasses import dataclass

from forum_runner.app.open_run import opening_entry
from forum_runner.errors import UsageError
from forum_runner.execute.replay import Replayer, ReplayResult
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.report import VerifyReport
from forum_runner.ledger.verification.verifier import verify_run

_CHECKED_FACTS = (
    "the inputs of each task, and the conditions under which it started",
    "the prompts, byte for byte, except for the values of secrets",
    "how answers were parsed, and whether they match their types",
    "fingerprints, reservations, charges and budgets",
    "retries, escalations, verdicts, how each task ended, and the order of all entries",
)
_ASSUMED_FACTS = (
    "the answers of adapters, programs, judges and people, and their times",
    "that the program with the recorded digest was the one that ran",
    "when the run was interrupted, and which calls were lost",
    "which results of earlier runs were found",
)


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The result of a replay. `checked` lists the facts that it compared, `assumed` those that come from outside."""

    report: VerifyReport
    outcome: ReplayResult
    checked: tuple[str, ...] = _CHECKED_FACTS
    assumed: tuple[str, ...] = _ASSUMED_FACTS

    @property
    def is_same(self) -> bool:
        return self.outcome.divergence is None and self.outcome.is_complete


def replay(source: LedgerSource) -> ReplayReport:
    """Executes a run again with its recorded answers, clock and ids, and compares every entry."""
    directory, report = verify_run(source, "replaying needs the run directory")
    opening_entry(directory)
    if report.redacted:
        raise UsageError("bodies of the run were redacted, so it cannot be replayed")
    replayer = Replayer(directory)
    try:
        return ReplayReport(report, replayer.replay())
    finally:
        replayer.close()
