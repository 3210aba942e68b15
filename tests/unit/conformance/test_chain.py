"""Level 2: each case breaks one rule of the chain and repairs everything else."""

import json
from io import BytesIO

import pytest

from fake_ledger.files import OTHER_RUN, canonical, leaf
from fake_ledger.ledger_builder import LedgerBuilder
from forum_conformance.judge import judge_stream
from forum_conformance.report import Report, Verdict
from unit.conformance.judged_run import draft_and_review, edit_entry, findings, rechain, statuses


def report_of(lines: list[bytes], tail: bytes = b"") -> Report:
    return judge_stream(BytesIO(b"".join(line + b"\n" for line in lines) + tail))


def test_a_correct_bare_ledger_is_valid() -> None:
    report = report_of(draft_and_review().lines())

    assert report.verdict is Verdict.VALID
    assert statuses(report) == ["ok", "ok", "not checked", "not checked", "ok"]


@pytest.mark.requirement("LEDGER-CHAIN-001")
def test_prev_is_the_hash_of_the_previous_line() -> None:
    builder = draft_and_review()

    assert findings(report_of(builder.lines(edit_entry(4, prev="f" * 64)))) == [("L201", 4)]
    assert findings(report_of(builder.lines(edit_entry(0, prev="f" * 64)))) == [("L201", 0)]


@pytest.mark.requirement("LEDGER-CHAIN-001")
def test_the_head_is_the_leaf_hash_of_the_last_line() -> None:
    lines = draft_and_review().lines()

    assert report_of(lines).facts.head == leaf(lines[-1]).hex()


@pytest.mark.requirement("LEDGER-ENTRY-003")
def test_seq_is_the_number_of_the_line() -> None:
    assert findings(report_of(draft_and_review().lines(edit_entry(4, seq=5)))) == [("L202", 4)]


@pytest.mark.requirement("LEDGER-ENTRY-003")
def test_a_missing_line_breaks_the_chain_and_the_numbers() -> None:
    lines = draft_and_review().lines()
    del lines[5]

    report = report_of(lines)

    assert findings(report)[:2] == [("L201", 5), ("L202", 5)]
    assert report.findings.first_bad_seq() == 5


@pytest.mark.requirement("LEDGER-ENTRY-003")
def test_every_entry_has_the_run_of_the_first() -> None:
    assert findings(report_of(draft_and_review().lines(edit_entry(3, run=OTHER_RUN)))) == [("L203", 3)]


@pytest.mark.requirement("LEDGER-ENTRY-003")
@pytest.mark.parametrize("causes", [[2, 1], [1, 1], [4], [9]])
def test_causes_are_earlier_entries_in_order(causes: list[int]) -> None:
    assert findings(report_of(draft_and_review().lines(edit_entry(4, causes=causes)))) == [("L204", 4)]


@pytest.mark.requirement("LEDGER-ENTRY-003")
def test_time_never_decreases() -> None:
    builder = draft_and_review()
    before = builder.entries[3]["at"]

    assert findings(report_of(builder.lines(edit_entry(4, at=before)))) == []
    assert findings(report_of(builder.lines(edit_entry(4, at="2026-11-15T08:59:59.999999Z")))) == [("L205", 4)]


@pytest.mark.requirement("LEDGER-CHAIN-002")
def test_only_the_first_entry_is_run_opened() -> None:
    builder = draft_and_review()
    lines = [json.loads(line) for line in builder.lines()]
    first = canonical({**lines[1], "seq": 0, "causes": [], "kind": "x-note"})
    again = canonical({**lines[0], "seq": 1})

    assert findings(report_of(rechain([first])))[0] == ("L206", 0)
    assert findings(report_of(rechain([builder.lines()[0], again])))[0] == ("L206", 1)


@pytest.mark.requirement("LEDGER-CHAIN-003")
def test_only_some_kinds_may_follow_a_seal() -> None:
    builder = draft_and_review()
    builder.add("run.repaired", {"torn": [{"file": "bodies.tar", "bytes": 1, "digest": "0" * 64}]})
    builder.add("x-note")
    builder.seal()
    assert findings(report_of(builder.lines())) == []

    number = builder.resume()
    builder.seal()

    assert findings(report_of(builder.lines())) == [("L207", number)]


def test_prev_is_the_hash_of_the_previous_line_even_if_that_is_malformed() -> None:
    lines = draft_and_review().lines()[:3]
    bad = b"not json"
    following = json.loads(draft_and_review().lines()[3])
    lines += [bad, canonical({**following, "seq": 4, "causes": [], "prev": leaf(bad).hex()})]

    assert findings(report_of(lines)) == [("L102", 3)]


def test_a_ledger_without_a_plan_is_judged() -> None:
    ledger = LedgerBuilder()
    implementation = {"name": "other", "version": "2"}
    ledger.add("run.opened", {"format": 1, "implementation": implementation, "mode": "live"})
    ledger.add("x-measured", {"value": 3}, [0])

    report = report_of(ledger.lines())

    assert findings(report) == [("L501", None)]
    assert report.verdict is Verdict.INCOMPLETE
