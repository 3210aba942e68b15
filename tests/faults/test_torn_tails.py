"""A tail cut at any byte is moved to `torn/` unchanged, and the ledger is resumed without it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from faults.aftermath import bytes_in, check_valid, entries_in, verification_report
from forum_runner.ledger import Body, DamagedLedgerError, Durability, create_ledger, open_ledger
from forum_runner.ledger.verification.report import UNFINISHED_CODES

pytestmark = pytest.mark.requirement("LEDGER-TORN-001", "LEDGER-TORN-002")

LEDGER = "ledger.jsonl"
BODIES = "bodies.tar"


class CompleteLedger(NamedTuple):
    """Both files of a ledger, the offset of each line, and the offset of each entry's bodies."""

    ledger: bytes
    bodies: bytes
    line_offsets: list[int]
    body_offsets: list[int]


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> CompleteLedger:
    directory = tmp_path_factory.mktemp("complete")
    lines, members = [], []
    with create_ledger(directory, durability=Durability.NONE) as ledger:
        for number in range(3):
            lines.append((directory / LEDGER).stat().st_size)
            members.append((directory / BODIES).stat().st_size)
            text = Body.text(f"text {number}\n" * 20, is_sensitive=number == 2)
            ledger.append("x-note", {"number": number}, bodies={"text": text})
    return CompleteLedger((directory / LEDGER).read_bytes(), (directory / BODIES).read_bytes(), lines, members)


def write_run_dir(directory: Path, ledger: bytes, bodies: bytes) -> Path:
    directory.mkdir()
    (directory / LEDGER).write_bytes(ledger)
    (directory / BODIES).write_bytes(bodies)
    return directory


def check_set_aside(directory: Path, tails: dict[str, bytes]) -> None:
    """Open and seal the ledger, and check that `torn/` has exactly these tails and that one entry lists them."""
    tails = {name: tail for name, tail in tails.items() if tail}
    digests = {name: hashlib.sha256(tail).hexdigest() for name, tail in tails.items()}

    with open_ledger(directory, durability=Durability.NONE) as ledger:
        ledger.seal("passed")

    check_valid(directory)
    torn_files = {name: data for name, data in bytes_in(directory).items() if name.startswith("torn/")}
    assert torn_files == {f"torn/{name}.{digests[name]}": tail for name, tail in tails.items()}
    repairs = [entry["data"]["torn"] for entry in entries_in(directory) if entry["kind"] == "run.repaired"]
    expected = [{"file": name, "bytes": len(tails[name]), "digest": digests[name]} for name in sorted(tails)]
    assert repairs == ([expected] if expected else [])


@pytest.mark.parametrize("lost_lines", [1, 2])
def test_a_ledger_cut_in_its_last_lines_is_resumed_without_them(
    tmp_path: Path, complete: CompleteLedger, lost_lines: int
) -> None:
    start = complete.line_offsets[-lost_lines]
    end = complete.line_offsets[1 - lost_lines] if lost_lines > 1 else len(complete.ledger)
    for cut in range(start, end):
        directory = write_run_dir(tmp_path / str(cut), complete.ledger[:cut], complete.bodies)

        assert set(verification_report(directory).codes) == {"L310", "L501"} | ({"L503"} if cut > start else set())
        check_set_aside(
            directory,
            {LEDGER: complete.ledger[start:cut], BODIES: complete.bodies[complete.body_offsets[-lost_lines] :]},
        )


def test_cut_bodies_that_no_entry_refers_to_are_set_aside(tmp_path: Path, complete: CompleteLedger) -> None:
    lines, start = complete.ledger[: complete.line_offsets[-1]], complete.body_offsets[-1]
    for cut in range(start, len(complete.bodies)):
        directory = write_run_dir(tmp_path / str(cut), lines, complete.bodies[:cut])

        assert set(verification_report(directory).codes) == {"L501"} | ({"L310"} if cut > start else set())
        check_set_aside(directory, {BODIES: complete.bodies[start:cut]})


@pytest.mark.requirement("LEDGER-VERIFY-003")
def test_cut_bodies_that_an_entry_refers_to_are_damage_not_a_torn_tail(
    tmp_path: Path, complete: CompleteLedger
) -> None:
    """Bodies reach the disk before the entry that refers to them, so no crash causes this."""
    for cut in [*range(0, complete.body_offsets[-1], 97), *range(complete.body_offsets[-1], len(complete.bodies))]:
        directory = write_run_dir(tmp_path / str(cut), complete.ledger, complete.bodies[:cut])
        before = bytes_in(directory)

        damage_codes = set(verification_report(directory).codes) - UNFINISHED_CODES
        with pytest.raises(DamagedLedgerError) as raised:
            open_ledger(directory)

        assert {raised.value.finding.code} == damage_codes <= {"L301", "L302"}
        assert bytes_in(directory) == before


def test_the_end_of_the_archive_is_rewritten_if_it_is_cut_at_any_byte(tmp_path: Path, complete: CompleteLedger) -> None:
    directory = write_run_dir(tmp_path / "run", complete.ledger, complete.bodies)
    with open_ledger(directory) as ledger:
        ledger.seal("passed")
    sealed = bytes_in(directory)
    for missing in range(1, 1025):
        cut = write_run_dir(tmp_path / str(missing), sealed[LEDGER], sealed[BODIES][:-missing])

        assert verification_report(cut).codes == ("L310",)
        open_ledger(cut, durability=Durability.NONE).close()

        check_valid(cut)
        assert b"".join(tails(cut)) == bytes(1024 - missing)


def tails(directory: Path) -> list[bytes]:
    return [data for name, data in bytes_in(directory).items() if name.startswith("torn/")]


def test_tails_set_aside_by_several_killed_repairs_are_all_recorded(tmp_path: Path, complete: CompleteLedger) -> None:
    directory = write_run_dir(tmp_path / "run", complete.ledger, complete.bodies)
    torn: dict[str, Any] = {f"torn/{LEDGER}.{hashlib.sha256(bytes([n])).hexdigest()}": bytes([n]) for n in range(40)}
    (directory / "torn").mkdir()
    for name, tail in torn.items():
        (directory / name).write_bytes(tail)

    with open_ledger(directory) as ledger:
        ledger.seal("passed")

    check_valid(directory)
    repairs = [entry["data"]["torn"] for entry in entries_in(directory) if entry["kind"] == "run.repaired"]
    assert {f"torn/{item['file']}.{item['digest']}" for items in repairs for item in items} == set(torn)


def test_an_unrelated_file_in_torn_is_kept(tmp_path: Path, complete: CompleteLedger) -> None:
    directory = write_run_dir(tmp_path / "run", complete.ledger, complete.bodies)
    (directory / "torn").mkdir()
    (directory / "torn" / "ledger.jsonl.bak").write_bytes(b"mine")

    with open_ledger(directory) as ledger:
        ledger.seal("passed")

    check_valid(directory)
    assert tails(directory) == [b"mine"]


@pytest.mark.requirement("LEDGER-TAR-001")
def test_an_empty_body_after_a_seal_removes_the_archive_end(tmp_path: Path, complete: CompleteLedger) -> None:
    directory = write_run_dir(tmp_path / "run", complete.ledger, complete.bodies)
    with open_ledger(directory) as ledger:
        ledger.seal("passed")
        ledger.append("x-empty", bodies={"text": Body(b"")})

    assert verification_report(directory).codes == ("L501",)
    open_ledger(directory).close()
    check_valid(directory)
    assert tails(directory) == []
