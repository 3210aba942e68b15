"""Level 3: the copies of answers and of the wave plan."""

from pathlib import Path

import pytest

from unit.conformance.raw_ledger import Stored, as_json, judged, statuses, told
from unit.conformance.story import Story, draft_and_review, task, wave_plan

SALT = bytes(range(32))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return draft_and_review().write(tmp_path / "run")


ANSWERED = 8


@pytest.mark.requirement("LEDGER-DIR-002")
@pytest.mark.parametrize(
    ("value", "name"),
    [
        (as_json({"a": 1}), "notes.json"),
        (Stored(b"text"), "notes.txt"),
        (Stored(b"\xff", "image/png"), "notes.bin"),
        (Stored(b"text", salt=SALT), "notes.txt"),
    ],
)
def test_a_copy_is_named_by_its_output_and_type(tmp_path: Path, value: Stored, name: str) -> None:
    story = Story(wave_plan({"a": task()}, outputs={"notes": {"task": "a"}}))
    answered = story.answer("notes", value, [story.run_task("a", value)])
    story.seal()
    directory = story.write(tmp_path)
    assert [path.name for path in (directory / "outputs").iterdir()] == [name]
    assert told(judged(directory)) == []

    (directory / "outputs" / name).write_bytes(b"other")

    assert told(judged(directory)) == [("L308", answered)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_a_sealed_directory_has_every_copy(directory: Path) -> None:
    (directory / "outputs" / "notes.txt").unlink()
    assert told(judged(directory)) == [("L308", ANSWERED)]

    (directory / "outputs").rmdir()
    assert told(judged(directory)) == [("L308", ANSWERED)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_before_the_seal_a_copy_may_be_absent_but_not_wrong(tmp_path: Path) -> None:
    directory = draft_and_review(is_sealed=False).write(tmp_path)
    (directory / "wave-plan.json").unlink()
    (directory / "outputs" / "notes.txt").unlink()
    assert told(judged(directory)) == [("L501", None)]

    (directory / "outputs" / "notes.txt").write_bytes(b"the note")
    assert told(judged(directory)) == [("L308", ANSWERED), ("L501", None)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_the_outputs_hold_nothing_else_but_names_with_a_dot(directory: Path) -> None:
    (directory / "outputs" / ".notes.txt.part").write_bytes(b"half")
    assert told(judged(directory)) == []

    (directory / "outputs" / "more.txt").write_bytes(b"more")
    assert told(judged(directory)) == [("L308", None)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_the_copy_of_the_wave_plan_is_held_to_the_same(directory: Path) -> None:
    (directory / "wave-plan.json").write_bytes(b"{}")
    assert told(judged(directory)) == [("L308", 0)]

    (directory / "wave-plan.json").unlink()
    assert told(judged(directory)) == [("L308", 0)]


@pytest.mark.requirement("LEDGER-DIR-002")
@pytest.mark.parametrize(("name", "seq"), [("outputs/notes.txt", ANSWERED), ("wave-plan.json", 0)])
def test_a_link_is_no_copy(directory: Path, tmp_path: Path, name: str, seq: int) -> None:
    copy = directory / name
    copy.rename(tmp_path / "elsewhere")
    copy.symlink_to(tmp_path / "elsewhere")

    assert told(judged(directory)) == [("L308", seq)]


@pytest.mark.requirement("LEDGER-REDACT-001", "LEDGER-REDACT-002")
def test_a_redacted_answer_has_no_copy(tmp_path: Path) -> None:
    story = draft_and_review()
    notes = Stored(b"the notes")
    story.redact(notes, "value", [ANSWERED])
    story.seal()
    directory = story.write(tmp_path)
    assert told(judged(directory)) == []

    (directory / "outputs").mkdir()
    (directory / "outputs" / "notes.txt").write_bytes(b"the notes")

    assert told(judged(directory)) == [("L306", 6)]


@pytest.mark.requirement("LEDGER-VERIFY-001")
def test_a_redacted_wave_plan_leaves_level_4_unchecked(tmp_path: Path) -> None:
    story = draft_and_review()
    story.redact(story.plan_body, "wave_plan", [0])
    story.seal()
    directory = story.write(tmp_path)

    report = judged(directory)
    assert told(report) == []
    assert statuses(report) == ["ok", "ok", "ok", "not checked", "ok"]

    (directory / "wave-plan.json").write_bytes(story.plan_body.content)
    assert told(judged(directory)) == [("L306", 0)]


@pytest.mark.requirement("LEDGER-VERIFY-001")
def test_a_wave_plan_that_is_called_redacted_and_is_there_is_checked(tmp_path: Path) -> None:
    story = Story(wave_plan({"a": task()}))
    story.redact(story.plan_body, "wave_plan", [0])
    story.redacted.clear()
    story.start("a", attempt=2)
    directory = story.write(tmp_path)
    (directory / "wave-plan.json").unlink()

    report = judged(directory)

    assert told(report) == [("L306", 0), ("L409", 2), ("L501", None)]
    assert statuses(report)[2:] == ["fail", "fail", "incomplete"]
