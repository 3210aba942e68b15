"""Level 5: seals, torn tails, checkpoints, pins and heads."""

from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import OTHER_RUN, ZEROS, Body, checkpoint_of, leaf, merkle_root
from forum_conformance.note import read_checkpoint
from forum_conformance.report import Verdict
from forum_conformance.seal import Held
from unit.conformance.judged_run import (
    SEALED,
    draft_and_review,
    findings,
    judged,
    ledger_with,
    read_lines,
    rechain,
    statuses,
    write_lines,
)
from unit.conformance.signing import key_of, sign


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return draft_and_review().write(tmp_path / "run")


@pytest.mark.requirement("LEDGER-SEAL-001", "LEDGER-VERIFY-003")
def test_a_ledger_without_a_seal_is_incomplete(tmp_path: Path) -> None:
    report = judged(draft_and_review(is_sealed=False).write(tmp_path))

    assert findings(report) == [("L501", None)]
    assert statuses(report) == ["ok", "ok", "ok", "ok", "incomplete"]
    assert report.verdict is Verdict.INCOMPLETE
    assert report.facts.status is None


@pytest.mark.requirement("LEDGER-SEAL-001")
def test_a_ledger_without_a_line_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(b"")
    (tmp_path / "bodies.tar").write_bytes(b"")

    report = judged(tmp_path)

    assert findings(report) == [("L502", None)]
    assert statuses(report) == ["ok", "ok", "ok", "not checked", "incomplete"]
    assert (report.facts.run, report.facts.head, report.facts.root) == (None, None, None)


@pytest.mark.requirement("LEDGER-TORN-001", "LEDGER-LINE-001")
@pytest.mark.parametrize("tail", [b"{", b" ", b'{"whole":1}', b"x" * 100_000])
def test_bytes_after_the_last_line_feed_are_a_torn_tail(directory: Path, tail: bytes) -> None:
    lines = read_lines(directory)
    with (directory / "ledger.jsonl").open("ab") as stream:
        stream.write(tail)

    report = judged(directory)

    assert findings(report) == [("L503", len(lines))]
    assert report.verdict is Verdict.INCOMPLETE
    assert report.facts.entries == len(lines)


@pytest.mark.requirement("LEDGER-TORN-001")
def test_a_torn_tail_may_stand_beside_a_missing_seal_or_be_all_there_is(tmp_path: Path) -> None:
    directory = draft_and_review(is_sealed=False).write(tmp_path)
    whole = (directory / "ledger.jsonl").read_bytes()
    (directory / "ledger.jsonl").write_bytes(whole + b"{")
    assert findings(judged(directory)) == [("L501", None), ("L503", 9)]

    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "ledger.jsonl").write_bytes(b"{")
    (empty / "bodies.tar").write_bytes(b"")
    assert findings(judged(empty)) == [("L502", None), ("L503", 0)]


@pytest.mark.requirement("LEDGER-SEAL-001")
def test_the_root_of_a_seal_is_that_of_the_entries_before_it(tmp_path: Path) -> None:
    story = draft_and_review()
    story.entries[-1]["data"]["root"] = ZEROS

    assert findings(judged(story.write(tmp_path))) == [("L505", 9)]


@pytest.mark.requirement("LEDGER-SEAL-002", "LEDGER-CHAIN-003")
def test_every_seal_has_its_root(tmp_path: Path) -> None:
    story = draft_and_review()
    story.redact(Body(b"a draft"), "output", 2)
    story.seal()
    directory = story.write(tmp_path)
    assert findings(judged(directory)) == []

    lines = read_lines(directory)
    story.entries[-1]["data"]["root"] = merkle_root([leaf(line) for line in lines[:9]]).hex()
    story.write(directory)

    assert findings(judged(directory)) == [("L505", 11)]


OTHERWISE: dict[str, Any] = {
    "status": "failed",
    "counts": {**SEALED["counts"], "passed": 1},
    "totals": {**SEALED["totals"], "wall_ms": 1},
}


@pytest.mark.requirement("LEDGER-SEAL-002")
@pytest.mark.parametrize("part", sorted(OTHERWISE))
def test_a_further_seal_has_the_status_counts_and_totals_of_the_one_before(tmp_path: Path, part: str) -> None:
    ledger = ledger_with()
    ledger.add("run.sealed", SEALED)
    assert findings(judged(ledger.write(tmp_path))) == []

    ledger.add("x-note")
    ledger.add("run.sealed", {**SEALED, part: OTHERWISE[part]})
    report = judged(ledger.write(tmp_path))
    assert findings(report) == [("L504", 4)]
    assert statuses(report)[4] == "fail"
    assert report.verdict is Verdict.INVALID

    ledger.add("run.sealed", {**SEALED, part: OTHERWISE[part]})
    ledger.add("run.sealed", SEALED)
    assert findings(judged(ledger.write(tmp_path))) == [("L504", 4), ("L504", 6)]


@pytest.mark.requirement("LEDGER-SEAL-002")
def test_seals_are_compared_with_or_without_a_plan_and_beside_their_roots(tmp_path: Path) -> None:
    story = draft_and_review()
    story.totals["calls"] += 1
    story.seal()
    assert findings(judged(story.write(tmp_path / "of a plan"))) == [("L421", 10), ("L504", 10)]

    ledger = ledger_with()
    ledger.add("run.sealed", {**SEALED, "status": "failed", "root": ZEROS})
    assert findings(judged(ledger.write(tmp_path / "of none"))) == [("L504", 2), ("L505", 2)]


@pytest.mark.requirement("LEDGER-SEAL-002")
def test_what_follows_a_seal_ends_with_a_new_one(tmp_path: Path) -> None:
    story = draft_and_review()
    story.add("x-note")

    assert findings(judged(story.write(tmp_path))) == [("L501", None)]


def with_checkpoint(directory: Path, data: bytes) -> Path:
    (directory / "checkpoint").write_bytes(data)
    return directory


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_a_checkpoint_holds_for_the_ledger_and_for_what_was_added_since(directory: Path) -> None:
    lines = read_lines(directory)
    report = judged(with_checkpoint(directory, checkpoint_of(lines)), checkpoint=checkpoint_of(lines[:3]))

    assert findings(report) == []
    assert report.checkpoints == (Held("directory", 10, None), Held("given", 3, None))


@pytest.mark.requirement("LEDGER-CHECKPOINT-001", "LEDGER-CHECKPOINT-003")
@pytest.mark.parametrize("is_given", [False, True])
def test_a_checkpoint_that_does_not_hold_is_told(directory: Path, is_given: bool) -> None:
    lines = read_lines(directory)
    cases = {
        "L506": b"forum/\n",
        "L507": checkpoint_of(lines, run=OTHER_RUN),
        "L508": checkpoint_of([*lines, b"more"]),
        "L509": checkpoint_of([*lines[:-1], b"other"]),
    }
    for code, data in cases.items():
        given: dict[str, Any] = {"checkpoint": data} if is_given else {}
        report = judged(directory if is_given else with_checkpoint(directory, data), **given)

        assert findings(report) == [(code, None)]
        assert report.verdict is Verdict.INVALID


@pytest.mark.requirement("LEDGER-CHECKPOINT-002", "LEDGER-CHECKPOINT-003")
def test_with_a_key_the_checkpoint_is_signed_by_it(directory: Path) -> None:
    private, key = key_of(bytes(32))
    text = checkpoint_of(read_lines(directory))
    signed = text + b"\n" + sign(text, private, key)

    report = judged(with_checkpoint(directory, signed), key=key)
    assert findings(report) == []
    assert report.checkpoints == (Held("directory", 10, "forum.example"),)

    assert findings(judged(directory, key=key, checkpoint=text)) == [("L510", None)]
    assert findings(judged(with_checkpoint(directory, checkpoint_of([b"x"] * 99, run=OTHER_RUN)), key=key)) == [
        ("L510", None)
    ]


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_a_key_is_for_the_checkpoint_that_is_given_or_else_for_that_of_the_directory(directory: Path) -> None:
    private, key = key_of(bytes(32))
    text = checkpoint_of(read_lines(directory))
    signed = text + b"\n" + sign(text, private, key)

    report = judged(with_checkpoint(directory, text), key=key, checkpoint=signed)
    assert findings(report) == []
    assert report.checkpoints == (Held("directory", 10, None), Held("given", 10, "forum.example"))

    assert findings(judged(directory, key=key)) == [("L510", None)]


@pytest.mark.requirement("LEDGER-CHECKPOINT-004")
def test_the_head_is_compared_with_the_expected_one(directory: Path) -> None:
    head = leaf(read_lines(directory)[-1]).hex()

    assert findings(judged(directory, expected_head=head)) == []
    assert findings(judged(directory, expected_head=ZEROS)) == [("L511", None)]


@pytest.mark.requirement("LEDGER-CHECKPOINT-004")
def test_a_pin_refuses_another_run_fewer_entries_and_another_root(directory: Path) -> None:
    lines = read_lines(directory)
    assert judged(directory, pin=read_checkpoint(checkpoint_of(lines[:4]))).checkpoints == (Held("pin", 4, None),)

    assert findings(judged(directory, pin=read_checkpoint(checkpoint_of(lines, run=OTHER_RUN)))) == [("L507", None)]
    assert findings(judged(directory, pin=read_checkpoint(checkpoint_of([*lines, b"more"])))) == [("L512", None)]
    assert findings(judged(directory, pin=read_checkpoint(checkpoint_of([b"other", *lines[1:]])))) == [("L513", None)]


@pytest.mark.requirement("LEDGER-REACH-001")
def test_a_ledger_written_anew_is_found_by_whoever_knows_the_old_one(directory: Path) -> None:
    lines = read_lines(directory)
    story = draft_and_review()
    story.entries[3]["actor"] = "agent:somebody"
    story.write(directory)
    assert findings(judged(directory)) == []

    assert findings(judged(directory, pin=read_checkpoint(checkpoint_of(lines)))) == [("L513", None)]
    assert findings(judged(directory, checkpoint=checkpoint_of(lines))) == [("L509", None)]
    assert findings(judged(directory, expected_head=leaf(lines[-1]).hex())) == [("L511", None)]


@pytest.mark.requirement("LEDGER-VERIFY-001")
def test_level_5_is_not_checked_where_the_chain_does_not_hold(directory: Path) -> None:
    lines = read_lines(directory)
    write_lines(directory, rechain([*lines[:2], *lines[3:]])[:-1])

    report = judged(directory, expected_head=ZEROS)

    assert set(report.findings.codes()) <= {"L202", "L204"}
    assert statuses(report)[2:] == ["not checked"] * 3
