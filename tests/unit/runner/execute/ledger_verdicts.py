"""The verdicts of the runner and of the conformance judge on a ledger."""

from pathlib import Path

from forum_conformance.judge import judge
from forum_conformance.report import report_document
from forum_runner.ledger.source import ledger_at
from forum_runner.ledger.verification.verifier import verify

LedgerVerdict = tuple[str, list[str]]

VALID: LedgerVerdict = ("valid", [])


def runner_verdict(directory: Path) -> LedgerVerdict:
    return _verdict_of(verify(ledger_at(directory)).document())


def judge_verdict(directory: Path) -> LedgerVerdict:
    return _verdict_of(report_document(judge(directory)))


def verdicts(directory: Path) -> dict[str, LedgerVerdict]:
    return {"runner": runner_verdict(directory), "judge": judge_verdict(directory)}


def _verdict_of(document: dict[str, object]) -> LedgerVerdict:
    """Return the verdict, every finding, and every level that is not ok."""
    findings = document["findings"]
    assert isinstance(findings, list)
    levels = document["levels"]
    assert isinstance(levels, list)
    not_ok = [f"level {level['level']} is {level['status']}" for level in levels if level["status"] != "ok"]
    return str(document["verdict"]), [*map(str, findings), *not_ok]
