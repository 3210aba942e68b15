"""Level 3: the copies of outputs and of the wave plan."""

from pathlib import Path

import pytest

from fake_ledger.files import Body, json_body
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import task, wave_plan
from unit.conformance.judged_run import draft_and_review, findings, judge_directory, statuses

SALT = bytes(range(32))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return draft_and_review().write(tmp_path / "run")


ANSWER_SEQ = 8


@pytest.mark.requirement("LEDGER-DIR-002")
@pytest.mark.parametrize(
    ("value", "name"),
    [
        (json_body({"a": 1}), "notes.json"),
        (Body(b"text"), "notes.txt"),
        (Body(b"\xff", "image/png"), "notes.bin"),
        (Body(b"text", salt=SALT), "notes.txt"),
    ],
)
def test_a_copy_is_named_by_its_output_and_type(tmp_path: Path, value: Body, name: str) -> None:
    builder = RunBuilder(wave_plan({"a": task()}, outputs={"notes": {"task": "a"}}))
    answered = builder.answer("notes", value, builder.complete("a", value))
    builder.seal()
    directory = builder.write(tmp_path)
    assert [path.name for path in (directory / "outputs").iterdir()] == [name]
    assert findings(judge_directory(directory)) == []

    (directory / "outputs" / name).write_bytes(b"other")

    assert findings(judge_directory(directory)) == [("L308", answered)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_a_sealed_directory_has_every_copy(directory: Path) -> None:
    (directory / "outputs" / "notes.txt").unlink()
    assert findings(judge_directory(directory)) == [("L308", ANSWER_SEQ)]

    (directory / "outputs").rmdir()
    assert findings(judge_directory(directory)) == [("L308", ANSWER_SEQ)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_before_the_seal_a_copy_may_be_missing_but_not_wrong(tmp_path: Path) -> None:
    directory = draft_and_review(is_sealed=False).write(tmp_path)
    (directory / "wave-plan.json").unlink()
    (directory / "outputs" / "notes.txt").unlink()
    assert findings(judge_directory(directory)) == [("L501", None)]

    (directory / "outputs" / "notes.txt").write_bytes(b"the note")
    assert findings(judge_directory(directory)) == [("L308", ANSWER_SEQ), ("L501", None)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_the_outputs_contain_nothing_else_except_dotfiles(directory: Path) -> None:
    (directory / "outputs" / ".notes.txt.part").write_bytes(b"half")
    assert findings(judge_directory(directory)) == []

    (directory / "outputs" / "more.txt").write_bytes(b"more")
    assert findings(judge_directory(directory)) == [("L308", None)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_a_wrong_or_missing_copy_of_the_wave_plan_is_a_finding(directory: Path) -> None:
    (directory / "wave-plan.json").write_bytes(b"{}")
    assert findings(judge_directory(directory)) == [("L308", 0)]

    (directory / "wave-plan.json").unlink()
    assert findings(judge_directory(directory)) == [("L308", 0)]


@pytest.mark.requirement("LEDGER-DIR-002")
@pytest.mark.parametrize(("name", "seq"), [("outputs/notes.txt", ANSWER_SEQ), ("wave-plan.json", 0)])
def test_a_symlink_is_not_a_copy(directory: Path, tmp_path: Path, name: str, seq: int) -> None:
    copy = directory / name
    copy.rename(tmp_path / "target")
    copy.symlink_to(tmp_path / "target")

    report = judge_directory(directory)

    assert findings(report) == [("L308", seq)]
    assert report.findings.items[0].sentence == f"{name} is not a regular file"


@pytest.mark.requirement("LEDGER-REDACT-001", "LEDGER-REDACT-002")
def test_a_redacted_answer_has_no_copy(tmp_path: Path) -> None:
    builder = draft_and_review()
    notes = Body(b"the notes")
    builder.redact(notes, "value", ANSWER_SEQ)
    builder.seal()
    directory = builder.write(tmp_path)
    assert findings(judge_directory(directory)) == []

    (directory / "outputs").mkdir()
    (directory / "outputs" / "notes.txt").write_bytes(b"the notes")

    assert findings(judge_directory(directory)) == [("L306", 6)]


@pytest.mark.requirement("LEDGER-VERIFY-001")
def test_a_redacted_wave_plan_leaves_level_4_unchecked(tmp_path: Path) -> None:
    builder = draft_and_review()
    builder.redact(builder.plan_body, "wave_plan", 0)
    builder.seal()
    directory = builder.write(tmp_path)

    report = judge_directory(directory)
    assert findings(report) == []
    assert statuses(report) == ["ok", "ok", "ok", "not checked", "ok"]

    (directory / "wave-plan.json").write_bytes(builder.plan_body.content)
    assert findings(judge_directory(directory)) == [("L306", 0)]


@pytest.mark.requirement("LEDGER-VERIFY-001")
def test_a_wave_plan_that_is_redacted_but_present_is_checked(tmp_path: Path) -> None:
    builder = RunBuilder(wave_plan({"a": task()}))
    builder.redact(builder.plan_body, "wave_plan", 0)
    builder.redacted.clear()
    builder.start("a", attempt=2)
    directory = builder.write(tmp_path)
    (directory / "wave-plan.json").unlink()

    report = judge_directory(directory)

    assert findings(report) == [("L306", 0), ("L409", 2), ("L501", None)]
    assert statuses(report)[2:] == ["fail", "fail", "incomplete"]
