"""Verifies a run directory before something is read from it."""

from __future__ import annotations

from pathlib import Path

from forum_runner.ledger.recognition import run_directory
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.verification.report import DamagedLedgerError, Verdict, VerifyReport
from forum_runner.ledger.verification.verifier import ALL_LEVELS, VerifyRequest, verify

WITHOUT_SEAL = frozenset({1, 2, 3, 4})


def verified_run(source: LedgerSource, purpose: str, levels: frozenset[int] = ALL_LEVELS) -> tuple[Path, VerifyReport]:
    """The run directory and its report. An invalid ledger raises a DamagedLedgerError; an unfinished one does not."""
    directory = run_directory(source, purpose)
    report = verify(source, VerifyRequest(levels=levels))
    if report.verdict is Verdict.INVALID:
        raise DamagedLedgerError(source.name, report.findings[0])
    return directory, report
