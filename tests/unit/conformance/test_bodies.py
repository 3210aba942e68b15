"""Level 3: the archive. Each case changes one thing in a valid run directory."""

from pathlib import Path

import pytest

from fake_ledger.files import END_OF_ARCHIVE, OTHER_RUN, Body, member_bytes
from fake_ledger.ledger_builder import LedgerBuilder
from fake_ledger.run_builder import OPENED
from forum_conformance.report import Verdict
from unit.conformance.judged_run import (
    SEALED,
    draft_and_review,
    findings,
    judge_directory,
    ledger_with,
    members,
    statuses,
)

SALT = bytes(range(32))


def write_archive(directory: Path, members: list[bytes], end: bytes = END_OF_ARCHIVE) -> Path:
    (directory / "bodies.tar").write_bytes(b"".join(members) + end)
    return directory


ONE, TWO, THREE = Body(b"one"), Body(b"two" * 400), Body(b"", "application/octet-stream")


@pytest.mark.requirement("LEDGER-DIR-001", "LEDGER-BODY-001", "LEDGER-BODY-002")
def test_a_correct_run_directory_is_valid(tmp_path: Path) -> None:
    report = judge_directory(draft_and_review(salt=SALT).write(tmp_path))

    assert findings(report) == []
    assert statuses(report) == ["ok", "ok", "ok", "ok", "ok"]
    assert report.verdict is Verdict.VALID


@pytest.mark.requirement("LEDGER-TAR-001", "LEDGER-TAR-002")
def test_plain_salted_and_empty_bodies_are_found(tmp_path: Path) -> None:
    ledger = ledger_with(ONE, TWO, THREE, Body(b"one", salt=SALT), Body(b"", salt=SALT))

    report = judge_directory(ledger.write(tmp_path))

    assert findings(report) == []
    assert statuses(report)[2:] == ["ok", "not checked", "ok"]


def test_without_an_archive_level_3_fails(tmp_path: Path) -> None:
    directory = draft_and_review().write(tmp_path)
    (directory / "bodies.tar").unlink()

    report = judge_directory(directory)

    assert findings(report) == [("L301", None)]
    assert statuses(report) == ["ok", "ok", "fail", "not checked", "ok"]


@pytest.mark.requirement("LEDGER-TAR-001")
@pytest.mark.parametrize(
    "offset", [0, 70, 100, 108, 116, 124, 136, 148, 154, 155, 156, 157, 257, 263, 265, 297, 329, 337, 345, 500, 515]
)
def test_a_changed_header_or_padding_breaks_the_archive(tmp_path: Path, offset: int) -> None:
    ledger = ledger_with(ONE, TWO)
    directory = ledger.write(tmp_path)
    first, second = members(ledger)
    changed = bytearray(first)
    changed[offset] ^= 1

    write_archive(directory, [bytes(changed), second])

    assert findings(judge_directory(directory)) == [("L301", None)]


@pytest.mark.requirement("LEDGER-TAR-001")
def test_a_header_with_a_different_mode_breaks_the_archive(tmp_path: Path) -> None:
    directory = ledger_with(ONE).write(tmp_path)
    member = bytearray(member_bytes(*ONE.member))
    member[100:108] = b"0000600\0"
    member[148:156] = b" " * 8
    member[148:156] = b"%06o\0 " % sum(member[:512])

    write_archive(directory, [bytes(member)])

    assert findings(judge_directory(directory)) == [("L301", None)]


@pytest.mark.requirement("LEDGER-TAR-001")
@pytest.mark.parametrize("name", ["a\0b", "\0" * 99 + "x"])
def test_a_name_with_an_inner_nul_breaks_the_archive(tmp_path: Path, name: str) -> None:
    ledger = ledger_with(ONE)
    directory = ledger.write(tmp_path)

    write_archive(directory, [member_bytes(name, b"unknown"), *members(ledger)])

    assert findings(judge_directory(directory)) == [("L301", None)]


def test_a_broken_archive_is_the_only_finding_of_its_level(tmp_path: Path) -> None:
    ledger = ledger_with(ONE, is_sealed=False)
    ledger.redact(TWO, "never", 1)
    ledger.add("run.sealed", SEALED)
    directory = ledger.write(tmp_path)

    write_archive(directory, [b"x" * 512])

    assert findings(judge_directory(directory)) == [("L301", None)]


@pytest.mark.requirement("LEDGER-TAR-002")
def test_a_digest_without_a_member_is_missing(tmp_path: Path) -> None:
    ledger = ledger_with(ONE, TWO)
    directory = ledger.write(tmp_path)

    write_archive(directory, members(ledger)[:1])

    report = judge_directory(directory)
    assert findings(report) == [("L302", 2)]
    assert report.verdict is Verdict.INVALID


@pytest.mark.requirement("LEDGER-BODY-001", "LEDGER-REDACT-002")
@pytest.mark.parametrize(
    "member",
    [
        member_bytes(ONE.member[0], b"two"),
        member_bytes(ONE.member[0], b"once"),
        member_bytes(f"salted/{ONE.digest}", SALT + b"one"),
        member_bytes(f"salted/{ONE.digest}", b"one"),
    ],
)
def test_a_member_contains_the_body_that_its_name_commits_to(tmp_path: Path, member: bytes) -> None:
    directory = ledger_with(ONE).write(tmp_path)

    write_archive(directory, [member])

    assert findings(judge_directory(directory)) == [("L303", 1)]


@pytest.mark.requirement("LEDGER-BODY-002")
def test_the_digest_commits_to_the_salt(tmp_path: Path) -> None:
    salted = Body(b"one", salt=SALT)
    directory = ledger_with(salted).write(tmp_path)

    write_archive(directory, [member_bytes(salted.member[0], SALT[::-1] + b"one")])

    assert findings(judge_directory(directory)) == [("L303", 1)]


def test_a_body_has_the_size_that_its_entry_states(tmp_path: Path) -> None:
    ledger = ledger_with(ONE)
    ledger.entries[1]["bodies"]["kept"]["bytes"] = 4

    assert findings(judge_directory(ledger.write(tmp_path))) == [("L303", 1)]


@pytest.mark.requirement("LEDGER-BODY-003")
@pytest.mark.parametrize("change", [{"bytes": 4}, {"salted": True}])
def test_all_entries_state_the_same_size_and_salt_for_a_digest(tmp_path: Path, change: dict[str, object]) -> None:
    ledger = ledger_with(ONE, ONE)
    ledger.entries[2]["bodies"]["kept"].update(change)

    assert findings(judge_directory(ledger.write(tmp_path))) == [("L303", 2)]


def test_entries_may_state_different_types_for_a_digest(tmp_path: Path) -> None:
    assert findings(judge_directory(ledger_with(ONE, Body(b"one", "application/json")).write(tmp_path))) == []


@pytest.mark.requirement("LEDGER-TAR-002")
@pytest.mark.parametrize(
    "name", [f"sha256/{Body(b'unknown').digest}", f"other/{ONE.digest}", f"sha256/{ONE.digest.upper()}", "", "x" * 100]
)
def test_an_unreferenced_member_before_a_referenced_one_is_a_finding(tmp_path: Path, name: str) -> None:
    ledger = ledger_with(ONE)
    directory = ledger.write(tmp_path)

    write_archive(directory, [member_bytes(name, b"unknown"), *members(ledger)])

    assert findings(judge_directory(directory)) == [("L304", None)]


@pytest.mark.requirement("LEDGER-TAR-002")
def test_members_are_in_the_order_in_which_entries_first_refer_to_them(tmp_path: Path) -> None:
    ledger = ledger_with(ONE, TWO, ONE, THREE)
    directory = ledger.write(tmp_path)
    one, two, three = members(ledger)

    write_archive(directory, [two, one, three])
    assert findings(judge_directory(directory)) == [("L305", 2)]

    write_archive(directory, [one, three, two])
    assert findings(judge_directory(directory)) == [("L305", 4)]


@pytest.mark.requirement("LEDGER-TAR-002")
def test_the_bodies_of_one_entry_are_in_the_order_of_their_names(tmp_path: Path) -> None:
    ledger = LedgerBuilder()
    ledger.add("run.opened", OPENED)
    ledger.add("x-kept", bodies={"b": ONE, "a": TWO})
    ledger.add("run.sealed", SEALED)
    directory = ledger.write(tmp_path)
    assert findings(judge_directory(directory)) == []

    write_archive(directory, [member_bytes(*ONE.member), member_bytes(*TWO.member)])

    assert findings(judge_directory(directory)) == [("L305", 1)]


@pytest.mark.requirement("LEDGER-TAR-002")
def test_a_digest_has_one_member(tmp_path: Path) -> None:
    ledger = ledger_with(ONE, TWO)
    directory = ledger.write(tmp_path)
    one, two = members(ledger)

    write_archive(directory, [one, one, two])

    assert findings(judge_directory(directory)) == [("L305", None)]


@pytest.mark.requirement("LEDGER-TORN-001")
@pytest.mark.parametrize(
    "tail", [b"x", member_bytes(*THREE.member), member_bytes(*TWO.member)[:900], bytes(512), bytes(1025)]
)
@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_torn_tail_of_the_archive_is_incomplete(tmp_path: Path, tail: bytes, is_sealed: bool) -> None:
    ledger = ledger_with(ONE, is_sealed=is_sealed)
    directory = ledger.write(tmp_path)

    write_archive(directory, members(ledger), tail)

    report = judge_directory(directory)
    assert report.findings.codes() == (["L310"] if is_sealed else ["L310", "L501"])
    assert report.verdict is Verdict.INCOMPLETE
    assert statuses(report)[2] == "incomplete"


@pytest.mark.requirement("LEDGER-TORN-001")
def test_the_archive_of_a_sealed_ledger_needs_its_end(tmp_path: Path) -> None:
    ledger = ledger_with(ONE)
    directory = ledger.write(tmp_path)

    write_archive(directory, members(ledger), b"")

    assert findings(judge_directory(directory)) == [("L310", None)]


@pytest.mark.parametrize("end", [b"", END_OF_ARCHIVE])
def test_the_archive_of_an_unsealed_ledger_may_have_its_end(tmp_path: Path, end: bytes) -> None:
    ledger = ledger_with(ONE, is_sealed=False)
    directory = ledger.write(tmp_path)

    write_archive(directory, members(ledger), end)

    assert findings(judge_directory(directory)) == [("L501", None)]


def test_a_torn_tail_does_not_hide_members_out_of_order(tmp_path: Path) -> None:
    ledger = ledger_with(ONE, TWO)
    directory = ledger.write(tmp_path)

    write_archive(directory, members(ledger)[::-1], member_bytes(*THREE.member))

    assert findings(judge_directory(directory)) == [("L310", None), ("L305", 2)]


@pytest.mark.requirement("LEDGER-REDACT-001")
@pytest.mark.parametrize("body", [ONE, Body(b"one", salt=SALT)])
def test_a_redacted_body_is_not_a_finding(tmp_path: Path, body: Body) -> None:
    ledger = ledger_with(body, body)
    ledger.redact(body, "kept", 1)
    ledger.add("run.sealed", SEALED)

    report = judge_directory(ledger.write(tmp_path))

    assert findings(report) == []
    assert report.facts.redacted == 1


@pytest.mark.requirement("LEDGER-REDACT-002")
def test_redacted_missing_and_wrong_bodies_have_different_codes(tmp_path: Path) -> None:
    ledger = ledger_with(ONE)
    ledger.redact(ONE, "kept", 1)
    ledger.add("run.sealed", SEALED)
    directory = ledger.write(tmp_path)
    reason = members(ledger)[1]

    write_archive(directory, [member_bytes(f"redacted/{ONE.digest}", b"\0\0x"), reason])
    assert findings(judge_directory(directory)) == [("L303", 1)]

    write_archive(directory, [member_bytes(f"redacted/{ONE.digest}", b"\0\0"), reason])
    assert findings(judge_directory(directory)) == [("L303", 1)]

    write_archive(directory, [member_bytes(ONE.member[0], b"\0\0\0"), reason])
    assert findings(judge_directory(directory)) == [("L306", 1)]

    write_archive(directory, [reason])
    assert findings(judge_directory(directory)) == [("L302", 1)]


@pytest.mark.requirement("LEDGER-REDACT-002")
def test_a_redacted_member_needs_a_redaction_entry(tmp_path: Path) -> None:
    directory = ledger_with(ONE).write(tmp_path)

    write_archive(directory, [member_bytes(f"redacted/{ONE.digest}", bytes(3))])

    assert findings(judge_directory(directory)) == [("L307", 1)]


@pytest.mark.requirement("LEDGER-REDACT-002")
def test_a_redaction_refers_to_a_body_of_an_earlier_entry_once(tmp_path: Path) -> None:
    ledger = ledger_with(ONE, is_sealed=False)
    unknown = ledger.redact(TWO, "kept", 1)
    ledger.redact(ONE, "kept", 1)
    again = ledger.redact(ONE, "kept", 1)
    later_reference = ledger.add("x-kept", bodies={"kept": ONE})
    ledger.add("run.sealed", SEALED)

    assert findings(judge_directory(ledger.write(tmp_path))) == [
        ("L309", unknown),
        ("L309", again),
        ("L309", later_reference),
    ]


@pytest.mark.requirement("LEDGER-REDACT-002")
def test_a_redaction_cannot_refer_to_its_own_body(tmp_path: Path) -> None:
    ledger = ledger_with(is_sealed=False)
    seq = ledger.redact(ONE, "reason", 0, reason=b"one")
    ledger.add("run.sealed", SEALED)

    assert findings(judge_directory(ledger.write(tmp_path))) == [("L309", seq)]


def test_the_run_id_does_not_depend_on_the_directory(tmp_path: Path) -> None:
    ledger = ledger_with(ONE)
    for entry in ledger.entries:
        entry["run"] = OTHER_RUN

    assert judge_directory(ledger.write(tmp_path)).facts.run == OTHER_RUN
