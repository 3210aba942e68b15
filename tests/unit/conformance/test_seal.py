"""Level 5: seals, torn tails, checkpoints, pins and heads."""

import os
from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import OTHER_RUN, ZEROS, Body, checkpoint_of, leaf, merkle_root
from forum_conformance.note import read_checkpoint
from forum_conformance.report import Verdict
from forum_conformance.seal import MatchingCheckpoint
from unit.conformance.judged_run import (
    SEALED,
    draft_and_review,
    findings,
    judge_directory,
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
    report = judge_directory(draft_and_review(is_sealed=False).write(tmp_path))

    assert findings(report) == [("L501", None)]
    assert statuses(report) == ["ok", "ok", "ok", "ok", "incomplete"]
    assert report.verdict is Verdict.INCOMPLETE
    assert report.facts.status is None


@pytest.mark.requirement("LEDGER-SEAL-001")
def test_a_ledger_without_a_line_is_incomplete(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(b"")
    (tmp_path / "bodies.tar").write_bytes(b"")

    report = judge_directory(tmp_path)

    assert findings(report) == [("L502", None)]
    assert statuses(report) == ["ok", "ok", "ok", "not checked", "incomplete"]
    assert (report.facts.run, report.facts.head, report.facts.root) == (None, None, None)


@pytest.mark.requirement("LEDGER-TORN-001", "LEDGER-LINE-001")
@pytest.mark.parametrize("tail", [b"{", b" ", b'{"whole":1}', b"x" * 100_000])
def test_bytes_after_the_last_line_feed_are_a_torn_tail(directory: Path, tail: bytes) -> None:
    lines = read_lines(directory)
    with (directory / "ledger.jsonl").open("ab") as stream:
        stream.write(tail)

    report = judge_directory(directory)

    assert findings(report) == [("L503", len(lines))]
    assert report.verdict is Verdict.INCOMPLETE
    assert report.facts.entries == len(lines)


@pytest.mark.requirement("LEDGER-TORN-001")
def test_a_torn_tail_may_follow_unsealed_entries_or_be_the_whole_file(tmp_path: Path) -> None:
    directory = draft_and_review(is_sealed=False).write(tmp_path)
    content = (directory / "ledger.jsonl").read_bytes()
    (directory / "ledger.jsonl").write_bytes(content + b"{")
    assert findings(judge_directory(directory)) == [("L501", None), ("L503", 9)]

    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "ledger.jsonl").write_bytes(b"{")
    (empty / "bodies.tar").write_bytes(b"")
    assert findings(judge_directory(empty)) == [("L502", None), ("L503", 0)]


@pytest.mark.requirement("LEDGER-SEAL-001")
def test_the_root_of_a_seal_covers_the_entries_before_it(tmp_path: Path) -> None:
    builder = draft_and_review()
    builder.entries[-1]["data"]["root"] = ZEROS

    assert findings(judge_directory(builder.write(tmp_path))) == [("L505", 9)]


@pytest.mark.requirement("LEDGER-SEAL-002", "LEDGER-CHAIN-003")
def test_every_seal_has_its_own_root(tmp_path: Path) -> None:
    builder = draft_and_review()
    builder.redact(Body(b"a draft"), "output", 2)
    builder.seal()
    directory = builder.write(tmp_path)
    assert findings(judge_directory(directory)) == []

    lines = read_lines(directory)
    builder.entries[-1]["data"]["root"] = merkle_root([leaf(line) for line in lines[:9]]).hex()
    builder.write(directory)

    assert findings(judge_directory(directory)) == [("L505", 11)]


CHANGED: dict[str, Any] = {
    "status": "failed",
    "counts": {**SEALED["counts"], "passed": 1},
    "totals": {**SEALED["totals"], "wall_ms": 1},
}


@pytest.mark.requirement("LEDGER-SEAL-002")
@pytest.mark.parametrize("member", sorted(CHANGED))
def test_a_later_seal_repeats_the_status_counts_and_totals(tmp_path: Path, member: str) -> None:
    ledger = ledger_with()
    ledger.add("run.sealed", SEALED)
    assert findings(judge_directory(ledger.write(tmp_path))) == []

    ledger.add("x-note")
    ledger.add("run.sealed", {**SEALED, member: CHANGED[member]})
    report = judge_directory(ledger.write(tmp_path))
    assert findings(report) == [("L504", 4)]
    assert statuses(report)[4] == "fail"
    assert report.verdict is Verdict.INVALID

    ledger.add("run.sealed", {**SEALED, member: CHANGED[member]})
    ledger.add("run.sealed", SEALED)
    assert findings(judge_directory(ledger.write(tmp_path))) == [("L504", 4), ("L504", 6)]


@pytest.mark.requirement("LEDGER-SEAL-002")
def test_seals_are_compared_with_and_without_a_plan_even_if_a_root_is_wrong(tmp_path: Path) -> None:
    builder = draft_and_review()
    builder.totals["calls"] += 1
    builder.seal()
    assert findings(judge_directory(builder.write(tmp_path / "with a plan"))) == [("L421", 10), ("L504", 10)]

    ledger = ledger_with()
    ledger.add("run.sealed", {**SEALED, "status": "failed", "root": ZEROS})
    assert findings(judge_directory(ledger.write(tmp_path / "without a plan"))) == [("L504", 2), ("L505", 2)]


@pytest.mark.requirement("LEDGER-SEAL-002")
def test_entries_after_a_seal_need_another_seal(tmp_path: Path) -> None:
    builder = draft_and_review()
    builder.add("x-note")

    assert findings(judge_directory(builder.write(tmp_path))) == [("L501", None)]


def with_checkpoint(directory: Path, data: bytes) -> Path:
    (directory / "checkpoint").write_bytes(data)
    return directory


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_a_checkpoint_stays_valid_when_entries_are_added(directory: Path) -> None:
    lines = read_lines(directory)
    report = judge_directory(with_checkpoint(directory, checkpoint_of(lines)), checkpoint=checkpoint_of(lines[:3]))

    assert findings(report) == []
    assert report.checkpoints == (MatchingCheckpoint("directory", 10, None), MatchingCheckpoint("given", 3, None))


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
@pytest.mark.parametrize("kind", ["link", "dangling link", "link to itself", "directory", "pipe"])
def test_a_checkpoint_is_a_regular_file_or_a_link_to_one(directory: Path, tmp_path: Path, kind: str) -> None:
    path = directory / "checkpoint"
    path.unlink(missing_ok=True)
    (tmp_path / "moved").write_bytes(checkpoint_of(read_lines(directory)))
    targets = {"link": tmp_path / "moved", "dangling link": tmp_path / "nothing", "link to itself": path}
    if kind in targets:
        path.symlink_to(targets[kind])
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)

    assert findings(judge_directory(directory)) == ([] if kind == "link" else [("L506", None)])


@pytest.mark.requirement("LEDGER-CHECKPOINT-001", "LEDGER-CHECKPOINT-003")
@pytest.mark.parametrize("is_given", [False, True])
def test_a_checkpoint_that_does_not_match_is_a_finding(directory: Path, is_given: bool) -> None:
    lines = read_lines(directory)
    cases = {
        "L506": b"forum/\n",
        "L507": checkpoint_of(lines, run=OTHER_RUN),
        "L508": checkpoint_of([*lines, b"more"]),
        "L509": checkpoint_of([*lines[:-1], b"other"]),
    }
    for code, data in cases.items():
        evidence: dict[str, Any] = {"checkpoint": data} if is_given else {}
        report = judge_directory(directory if is_given else with_checkpoint(directory, data), **evidence)

        assert findings(report) == [(code, None)]
        assert report.verdict is Verdict.INVALID


@pytest.mark.requirement("LEDGER-CHECKPOINT-002", "LEDGER-CHECKPOINT-003")
def test_with_a_key_the_checkpoint_must_be_signed_by_it(directory: Path) -> None:
    private, key = key_of(bytes(32))
    text = checkpoint_of(read_lines(directory))
    signed = text + b"\n" + sign(text, private, key)

    report = judge_directory(with_checkpoint(directory, signed), key=key)
    assert findings(report) == []
    assert report.checkpoints == (MatchingCheckpoint("directory", 10, "forum.example"),)

    assert findings(judge_directory(directory, key=key, checkpoint=text)) == [("L510", None)]
    assert findings(
        judge_directory(with_checkpoint(directory, checkpoint_of([b"x"] * 99, run=OTHER_RUN)), key=key)
    ) == [("L510", None)]


@pytest.mark.requirement("LEDGER-CHECKPOINT-003")
def test_a_key_applies_to_the_given_checkpoint_or_else_to_the_one_in_the_directory(directory: Path) -> None:
    private, key = key_of(bytes(32))
    text = checkpoint_of(read_lines(directory))
    signed = text + b"\n" + sign(text, private, key)

    report = judge_directory(with_checkpoint(directory, text), key=key, checkpoint=signed)
    assert findings(report) == []
    assert report.checkpoints == (
        MatchingCheckpoint("directory", 10, None),
        MatchingCheckpoint("given", 10, "forum.example"),
    )

    assert findings(judge_directory(directory, key=key)) == [("L510", None)]


@pytest.mark.requirement("LEDGER-CHECKPOINT-004")
def test_the_head_is_compared_with_the_expected_one(directory: Path) -> None:
    head = leaf(read_lines(directory)[-1]).hex()

    assert findings(judge_directory(directory, expected_head=head)) == []
    assert findings(judge_directory(directory, expected_head=ZEROS)) == [("L511", None)]


@pytest.mark.requirement("LEDGER-CHECKPOINT-004")
def test_a_pin_detects_a_different_run_fewer_entries_and_a_different_root(directory: Path) -> None:
    lines = read_lines(directory)
    assert judge_directory(directory, pin=read_checkpoint(checkpoint_of(lines[:4]))).checkpoints == (
        MatchingCheckpoint("pin", 4, None),
    )

    assert findings(judge_directory(directory, pin=read_checkpoint(checkpoint_of(lines, run=OTHER_RUN)))) == [
        ("L507", None)
    ]
    assert findings(judge_directory(directory, pin=read_checkpoint(checkpoint_of([*lines, b"more"])))) == [
        ("L512", None)
    ]
    assert findings(judge_directory(directory, pin=read_checkpoint(checkpoint_of([b"other", *lines[1:]])))) == [
        ("L513", None)
    ]


@pytest.mark.requirement("LEDGER-REACH-001")
def test_a_rewritten_ledger_is_detected_with_a_pin_a_checkpoint_or_a_head(directory: Path) -> None:
    lines = read_lines(directory)
    builder = draft_and_review()
    builder.entries[3]["actor"] = "agent:another"
    builder.write(directory)
    assert findings(judge_directory(directory)) == []

    assert findings(judge_directory(directory, pin=read_checkpoint(checkpoint_of(lines)))) == [("L513", None)]
    assert findings(judge_directory(directory, checkpoint=checkpoint_of(lines))) == [("L509", None)]
    assert findings(judge_directory(directory, expected_head=leaf(lines[-1]).hex())) == [("L511", None)]


@pytest.mark.requirement("LEDGER-VERIFY-001")
def test_level_5_is_not_checked_if_the_chain_is_broken(directory: Path) -> None:
    lines = read_lines(directory)
    write_lines(directory, rechain([*lines[:2], *lines[3:]])[:-1])

    report = judge_directory(directory, expected_head=ZEROS)

    assert set(report.findings.codes()) <= {"L202", "L204"}
    assert statuses(report)[2:] == ["not checked"] * 3
