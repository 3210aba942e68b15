"""Small ledgers for the tests of the judge, and short forms of the judge's findings."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fake_ledger.files import ZEROS, Body, Form, canonical, leaf, ledger_of, member_bytes, members_of
from fake_ledger.ledger_builder import NO_USAGE, STATES, LedgerBuilder
from fake_ledger.run_builder import OPENED, RunBuilder
from fake_ledger.wave_plans import data_edge, task, wave_plan
from forum_conformance.judge import OutsideEvidence, judge
from forum_conformance.report import Report

SEALED: dict[str, Any] = {
    "status": "passed",
    "counts": dict.fromkeys(STATES, 0),
    "totals": {"calls": 0, **NO_USAGE},
}


def ledger_with(*bodies: Body, is_sealed: bool = True) -> LedgerBuilder:
    """A ledger without a plan: `run.opened`, one entry for each body, and a seal."""
    ledger = LedgerBuilder()
    ledger.add("run.opened", OPENED)
    for body in bodies:
        ledger.add("x-kept", bodies={"kept": body})
    if is_sealed:
        ledger.add("run.sealed", SEALED)
    return ledger


def draft_and_review(*, is_sealed: bool = True, salt: bytes = b"") -> RunBuilder:
    """A valid run: `draft` delivers its output to `review`, whose output is the answer `notes`."""
    tasks = {"draft": task(), "review": task(needs=[data_edge({"task": "draft"}, "text")])}
    builder = RunBuilder(wave_plan(tasks, outputs={"notes": {"task": "review"}}))
    text, notes = Body(b"a draft", salt=salt), Body(b"the notes")
    builder.deliver("review", "text", text, builder.complete("draft", text))
    builder.answer("notes", notes, builder.complete("review", notes))
    if is_sealed:
        builder.seal()
    return builder


def members(ledger: LedgerBuilder) -> list[bytes]:
    """Return the members of the archive."""
    return [member_bytes(*member) for member in members_of(ledger.record())]


def edit_entry(index: int, **members: Any) -> Mapping[int, Form]:
    """Replace members of one entry. Later lines are chained to the result."""
    return {index: lambda entry: canonical({**entry, **members})}


def write_lines(directory: Path, lines: Sequence[bytes]) -> None:
    (directory / "ledger.jsonl").write_bytes(ledger_of(lines))


def read_lines(directory: Path) -> list[bytes]:
    return (directory / "ledger.jsonl").read_bytes().split(b"\n")[:-1]


def rechain(lines: Sequence[bytes]) -> list[bytes]:
    """Return the lines with every `prev` corrected."""
    chained: list[bytes] = []
    for line in lines:
        entry = json.loads(line)
        entry["prev"] = leaf(chained[-1]).hex() if chained else ZEROS
        chained.append(canonical(entry))
    return chained


def judge_directory(directory: Path, levels: Sequence[int] = (1, 2, 3, 4, 5), **evidence: Any) -> Report:
    return judge(directory, levels=frozenset(levels), evidence=OutsideEvidence(**evidence))


def findings(report: Report) -> list[tuple[str, int | None]]:
    """Return code and seq of every finding."""
    return [(finding.code, finding.seq) for finding in report.findings.items]


def statuses(report: Report) -> list[str]:
    return [level.status.value for level in report.levels]
