"""What both verifiers say of a ledger."""

from pathlib import Path

from forum_conformance.judge import judge
from forum_conformance.report import document_of
from forum_runner.ledger.source import ledger_at
from forum_runner.ledger.verification.verifier import verify

Said = tuple[str, list[str]]

VALID: Said = ("valid", [])


def runner_says(directory: Path) -> Said:
    return _said(verify(ledger_at(directory)).document())


def judge_says(directory: Path) -> Said:
    return _said(document_of(judge(directory)))


def verdicts(directory: Path) -> dict[str, Said]:
    return {"runner": runner_says(directory), "judge": judge_says(directory)}


def _said(document: dict[str, object]) -> Said:
    """The verdict and, if it is not the best one, every finding."""
    found = document["findings"]
    assert isinstance(found, list)
    levels = document["levels"]
    assert isinstance(levels, list)
    unchecked = [f"level {level['level']} is {level['status']}" for level in levels if level["status"] != "ok"]
    return str(document["verdict"]), [*map(str, found), *unchecked]
