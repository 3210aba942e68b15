"""Reopening a ledger, recovering torn tails, and redacting bodies."""

import json
from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body as FakeBody
from fake_ledger.ledger_builder import LedgerBuilder
from fake_ledger.run_builder import OPENED
from forum_runner.errors import UsageError
from forum_runner.ledger import Body, DamagedLedgerError, Verdict, VerifyReport, create_ledger, open_ledger
from forum_runner.ledger import verify as verify_source
from forum_runner.ledger.source import ledger_at
from forum_runner.ledger.verification.report import MAX_LISTED


def verify(run_dir: Path) -> VerifyReport:
    return verify_source(ledger_at(run_dir))


def last_entry(run_dir: Path) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads((run_dir / "ledger.jsonl").read_bytes().split(b"\n")[-2])
    return entry


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """An unsealed ledger with three notes, each with a plain and a salted body."""
    with create_ledger(tmp_path / "run") as ledger:
        for number in range(3):
            bodies = {"text": Body.text(f"note {number}"), "secret": Body.text("a word in private", is_sensitive=True)}
            ledger.append("x-note", {"number": number}, bodies=bodies)
    return tmp_path / "run"


@pytest.fixture
def sealed(run_dir: Path) -> Path:
    with open_ledger(run_dir) as ledger:
        ledger.seal("passed")
    return run_dir


@pytest.mark.requirement("LEDGER-TORN-002")
def test_opening_continues_where_the_ledger_ended(run_dir: Path) -> None:
    with open_ledger(run_dir) as ledger:
        assert ledger.append("x-note", {"number": 3}, bodies={"text": Body.text("note 1")}) == 4
        ledger.seal("passed")

    assert verify(run_dir).verdict is Verdict.VALID
    assert not (run_dir / "torn").exists()


@pytest.mark.requirement("LEDGER-TORN-001", "LEDGER-TORN-002")
def test_torn_tails_are_saved_and_recorded(run_dir: Path) -> None:
    for name, tail in (("ledger.jsonl", b'{"actor":"ru'), ("bodies.tar", b"sha256/00")):
        with (run_dir / name).open("ab") as stream:
            stream.write(tail)
    assert verify(run_dir).codes == ("L310", "L501", "L503")

    open_ledger(run_dir).close()

    torn = last_entry(run_dir)["data"]["torn"]
    saved = {item["file"]: (run_dir / "torn" / f"{item['file']}.{item['digest']}").read_bytes() for item in torn}
    assert saved == {"ledger.jsonl": b'{"actor":"ru', "bodies.tar": b"sha256/00"}
    assert verify(run_dir).codes == ("L501",)


def test_a_tail_saved_by_a_killed_recovery_is_recorded_by_the_next_one(run_dir: Path) -> None:
    digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
    (run_dir / "torn").mkdir()
    (run_dir / "torn" / f"ledger.jsonl.{digest}").write_bytes(b"foo")

    open_ledger(run_dir).close()
    open_ledger(run_dir).close()

    assert last_entry(run_dir)["data"] == {"torn": [{"bytes": 3, "digest": digest, "file": "ledger.jsonl"}]}
    assert verify(run_dir).entries == 5


@pytest.mark.requirement("LEDGER-TORN-002")
@pytest.mark.parametrize(("name", "offset"), [("ledger.jsonl", 40), ("bodies.tar", 515)])
def test_an_invalid_ledger_cannot_be_opened_and_stays_unchanged(run_dir: Path, name: str, offset: int) -> None:
    data = bytearray((run_dir / name).read_bytes())
    data[offset] ^= 1
    (run_dir / name).write_bytes(data)

    with pytest.raises(DamagedLedgerError, match=r"is invalid at entry [01]: L[13]0"):
        open_ledger(run_dir)

    assert (run_dir / name).read_bytes() == data


def test_damage_is_found_behind_more_repairable_findings_than_are_listed(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with create_ledger(run_dir) as ledger:
        for number in range(MAX_LISTED + 1):
            ledger.append("x-note", bodies={"text": Body.text(f"note {number}")})
        whole = (run_dir / "bodies.tar").read_bytes()
        for seq in range(1, MAX_LISTED + 1):
            ledger.redact(seq, "text", "private")
    # The redactions are unfinished again, and the last note, which is not redacted, is altered.
    data = bytearray(whole + (run_dir / "bodies.tar").read_bytes()[len(whole) :])
    data[len(whole) - 512] ^= 1
    (run_dir / "bodies.tar").write_bytes(data)

    with pytest.raises(DamagedLedgerError, match="is invalid: L303"):
        open_ledger(run_dir)

    assert (run_dir / "bodies.tar").read_bytes() == data


@pytest.mark.parametrize("name", ["ledger.jsonl", "bodies.tar"])
def test_a_ledger_with_a_missing_file_cannot_be_opened(run_dir: Path, name: str) -> None:
    (run_dir / name).unlink()

    with pytest.raises(UsageError, match=f"no {name}"):
        open_ledger(run_dir)


def test_a_ledger_without_an_entry_cannot_be_opened(run_dir: Path) -> None:
    (run_dir / "ledger.jsonl").write_bytes(b"")

    with pytest.raises(UsageError, match="has no entries"):
        open_ledger(run_dir)


@pytest.mark.requirement("LEDGER-REDACT-001", "LEDGER-SEAL-002")
@pytest.mark.parametrize("body", ["text", "secret"])
def test_a_redacted_body_is_gone_and_the_ledger_is_valid(sealed: Path, body: str) -> None:
    before = (sealed / "bodies.tar").read_bytes()

    with open_ledger(sealed) as ledger:
        ledger.redact(2, body, "requested by its owner", actor="person:ann")

    after = (sealed / "bodies.tar").read_bytes()
    report = verify(sealed)
    assert (report.verdict, report.redacted, report.status) == (Verdict.VALID, 1, "passed")
    assert (b"note 1" in before, b"note 1" in after) == (True, body != "text")
    assert (before.count(b"in private"), after.count(b"in private")) == (3, 2 if body == "secret" else 3)


@pytest.mark.requirement("LEDGER-REDACT-002")
def test_redacted_missing_and_corrupt_bodies_have_different_findings(sealed: Path) -> None:
    with open_ledger(sealed) as ledger:
        ledger.redact(1, "text", "gone")
    archive = bytearray((sealed / "bodies.tar").read_bytes())
    corrupt_at = archive.index(b"note 1")
    archive[corrupt_at] ^= 1
    (sealed / "bodies.tar").write_bytes(archive)
    assert [(finding.code, finding.seq) for finding in verify(sealed).findings] == [("L303", 2)]

    archive[corrupt_at] ^= 1
    without = bytes(archive[: corrupt_at - 512] + archive[corrupt_at + 512 :])
    (sealed / "bodies.tar").write_bytes(without)
    assert [(finding.code, finding.seq) for finding in verify(sealed).findings] == [("L302", 2)]


def test_an_unfinished_redaction_is_found_and_then_completed(sealed: Path) -> None:
    unredacted = (sealed / "bodies.tar").read_bytes()
    with open_ledger(sealed) as ledger:
        ledger.redact(1, "text", "gone")
    redacted = (sealed / "bodies.tar").read_bytes()
    end = unredacted.index(b"note 0") + 512
    (sealed / "bodies.tar").write_bytes(unredacted[:end] + redacted[end:])
    assert verify(sealed).codes == ("L306",)

    open_ledger(sealed).close()

    assert verify(sealed).verdict is Verdict.VALID
    assert (sealed / "bodies.tar").read_bytes() == redacted


def test_bytes_added_again_after_their_redaction_are_salted(run_dir: Path) -> None:
    with open_ledger(run_dir) as ledger:
        ledger.redact(1, "text", "gone")
        ledger.append("x-note", bodies={"text": Body.text("note 0")})
        ledger.seal("passed")

    assert verify(run_dir).verdict is Verdict.VALID
    entry = json.loads((run_dir / "ledger.jsonl").read_bytes().split(b"\n")[5])
    assert entry["bodies"]["text"]["salted"] is True


@pytest.mark.parametrize(
    ("seq", "body", "message"),
    [(9, "text", "no entry 9; the last entry is 4"), (0, "text", "it has none"), (1, "prompt", "it has secret, text")],
)
def test_redacting_a_missing_body_is_an_error(sealed: Path, seq: int, body: str, message: str) -> None:
    before = (sealed / "ledger.jsonl").read_bytes()

    with open_ledger(sealed) as ledger, pytest.raises(UsageError, match=message):
        ledger.redact(seq, body, "why")

    assert (sealed / "ledger.jsonl").read_bytes() == before


def test_a_body_cannot_be_redacted_twice(sealed: Path) -> None:
    with open_ledger(sealed) as ledger:
        ledger.redact(1, "text", "gone")
        with pytest.raises(UsageError, match="already redacted"):
            ledger.redact(1, "text", "gone")


def test_redacting_an_output_deletes_its_file(tmp_path: Path) -> None:
    with create_ledger(tmp_path / "run") as ledger:
        seq = ledger.answer("notes", Body.text("private"))
        ledger.seal("passed")
        ledger.redact(seq, "value", "gone")

    assert list((tmp_path / "run" / "outputs").iterdir()) == []
    assert verify(tmp_path / "run").verdict is Verdict.VALID


@pytest.mark.requirement("LEDGER-TORN-002")
def test_two_identical_torn_tails_are_recorded_twice(run_dir: Path) -> None:
    for _ in range(2):
        with (run_dir / "ledger.jsonl").open("ab") as stream:
            stream.write(b"{torn")
        open_ledger(run_dir).close()

    kinds = [json.loads(line)["kind"] for line in (run_dir / "ledger.jsonl").read_bytes().split(b"\n")[:-1]]
    assert kinds.count("run.repaired") == 2


def test_a_redaction_does_not_follow_links_out_of_the_run_directory(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    with create_ledger(tmp_path / "run") as ledger:
        seq = ledger.answer("notes", Body.text("private"))
        ledger.seal("passed")
        (tmp_path / "run" / "outputs").rename(elsewhere)
        (tmp_path / "run" / "outputs").symlink_to(elsewhere)
        ledger.redact(seq, "value", "gone")

    assert (elsewhere / "notes.txt").read_text() == "private"


@pytest.mark.requirement("LEDGER-REDACT-002")
def test_a_second_redaction_of_a_body_has_a_finding_that_names_this_case(tmp_path: Path) -> None:
    body = FakeBody(b"one")
    ledger = LedgerBuilder()
    ledger.add("run.opened", OPENED)
    ledger.add("x-kept", bodies={"kept": body})
    ledger.redact(body, "kept", 1)
    again = ledger.redact(body, "kept", 1)

    found = [finding for finding in verify(ledger.write(tmp_path / "run")).findings if finding.code == "L309"]

    sentence = "the entry redacts a body that is unknown or already redacted, or refers to a redacted body"
    assert [(finding.seq, finding.sentence) for finding in found] == [(again, sentence)]


@pytest.mark.requirement("LEDGER-DIR-002")
def test_a_link_to_an_equal_file_is_reported_as_a_link_and_not_as_a_difference(tmp_path: Path) -> None:
    with create_ledger(tmp_path / "run") as ledger:
        ledger.answer("notes", Body.text("equal"))
        ledger.seal("passed")
    copy = tmp_path / "run" / "outputs" / "notes.txt"
    copy.rename(tmp_path / "elsewhere.txt")
    copy.symlink_to(tmp_path / "elsewhere.txt")

    (finding,) = verify(tmp_path / "run").findings

    assert (finding.code, finding.sentence) == ("L308", "outputs/notes.txt is not a regular file")


TIMES = ["2500-01-01T00:00:00.123457Z", "9999-12-31T23:59:59.999999Z", "2026-02-30T00:00:00.000000Z"]


@pytest.mark.parametrize("at", TIMES)
def test_a_ledger_with_any_date_can_be_continued(tmp_path: Path, at: str) -> None:
    create_ledger(tmp_path / "run").close()
    opened = json.loads((tmp_path / "run" / "ledger.jsonl").read_bytes())
    line = json.dumps({**opened, "at": at}, sort_keys=True, separators=(",", ":"))
    (tmp_path / "run" / "ledger.jsonl").write_text(f"{line}\n")

    with open_ledger(tmp_path / "run") as ledger:
        ledger.append("x-note")
        ledger.seal("passed")

    assert verify(tmp_path / "run").verdict is Verdict.VALID
