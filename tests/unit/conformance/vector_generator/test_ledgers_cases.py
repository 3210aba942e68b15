"""The cases of the area `ledger`: expected results that follow from findings, and complete coverage of codes."""

import io
import re
import tarfile
from pathlib import Path

from fake_ledger.files import archive_of, members_of
from vector_generator.ledgers.area import cases
from vector_generator.ledgers.bases import notes, worked_example
from vector_generator.ledgers.case import Case

LEDGER_PAGE = Path(__file__).parents[4] / "docs" / "spec" / "ledger.md"


def make_case(*findings: tuple[str, int | None], not_checked: frozenset[int] = frozenset()) -> Case:
    return Case("case", "a case", ("LEDGER-LINE-001",), 1, {}, findings, not_checked)


def statuses(case: Case) -> list[str]:
    return [level["status"] for level in case.expected()["levels"].values()]


def test_levels_3_to_5_are_not_checked_if_1_or_2_fails() -> None:
    assert statuses(make_case(("L201", 2))) == ["ok", "fail", "not checked", "not checked", "not checked"]


def test_only_some_findings_leave_a_ledger_incomplete() -> None:
    unfinished = make_case(("L310", None), ("L501", None), not_checked=frozenset({4}))
    wrong = make_case(("L407", 4), ("L501", None))

    assert statuses(unfinished) == ["ok", "ok", "incomplete", "not checked", "incomplete"]
    assert unfinished.expected()["verdict"] == "incomplete"
    assert statuses(wrong) == ["ok", "ok", "ok", "fail", "incomplete"]
    assert wrong.expected()["verdict"] == "invalid"


def test_the_first_bad_seq_is_the_smallest_of_all_findings() -> None:
    case = make_case(("L303", 7), ("L302", 3), ("L308", None))

    assert case.expected()["first_bad_seq"] == 3
    assert make_case(("L501", None)).expected()["first_bad_seq"] is None


def test_every_code_of_the_specification_is_alone_in_some_case() -> None:
    codes = set(re.findall(r"\bL[1-5][0-9]{2}\b", LEDGER_PAGE.read_text(encoding="utf-8")))
    codes_by_case = [{code for code, _ in case.findings} for case in cases()]

    assert {code for code in codes if {code} not in codes_by_case} == set()


def test_names_are_unique_and_negative_cases_derive_from_positive_ones() -> None:
    all_cases = list(cases())
    positive = {f"ledger/{case.name}" for case in all_cases if not case.findings}

    assert len({case.name for case in all_cases}) == len(all_cases)
    assert {case.derived_from for case in all_cases if case.findings} <= positive


def test_the_worked_example_has_the_entries_of_the_specification() -> None:
    assert [entry["kind"] for entry in worked_example().entries] == ["run.opened", "x-note", "run.sealed"]


def test_tarfile_reads_the_members_of_an_archive() -> None:
    members = members_of(notes())

    with tarfile.open(fileobj=io.BytesIO(archive_of(members))) as archive:
        contents = [(member.name, (archive.extractfile(member) or io.BytesIO()).read()) for member in archive]

    assert contents == members
