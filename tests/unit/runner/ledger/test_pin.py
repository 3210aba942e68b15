"""Pins: a pinned ledger may only grow."""

from pathlib import Path

import pytest

from forum_runner.app.proofs import read_pin
from forum_runner.errors import UsageError
from forum_runner.ledger.checkpoint import PIN as WHAT
from forum_runner.ledger.checkpoint import Checkpoint, compare_checkpoint
from forum_runner.ledger.verification.report import LedgerFinding
from forum_runner.write_file import write_output

pytestmark = pytest.mark.requirement("LEDGER-CHECKPOINT-004")

RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"
OTHER_RUN = "01936b2e-4d10-7a3c-9f00-000000000000"
ROOT = bytes(range(32))
PIN = Checkpoint(RUN, 7, ROOT)


def test_the_same_ledger_and_a_longer_one_agree_with_the_pin() -> None:
    assert compare_checkpoint(PIN, RUN, 7, ROOT, WHAT) is None
    assert compare_checkpoint(PIN, RUN, 12, ROOT, WHAT) is None


@pytest.mark.parametrize(
    ("run", "size", "root", "finding"),
    [
        (OTHER_RUN, 7, ROOT, LedgerFinding("L507", None, f"the pin belongs to run {RUN}, not {OTHER_RUN}")),
        (RUN, 6, None, LedgerFinding("L512", None, "the pin's size is 7, larger than the ledger's size of 6")),
        (RUN, 9, bytes(32), LedgerFinding("L513", None, "the pin's root differs from the ledger's root at size 7")),
    ],
)
def test_a_ledger_that_contradicts_the_pin_is_a_finding(
    run: str, size: int, root: bytes | None, finding: LedgerFinding
) -> None:
    assert compare_checkpoint(PIN, run, size, root, WHAT) == finding


def test_a_written_pin_is_read_back_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "pin"

    for pin in (Checkpoint(RUN, 3, bytes(32)), PIN):
        write_output(path, pin.note().encode())

    assert read_pin(path) == PIN
    assert [item.name for item in tmp_path.iterdir()] == ["pin"]


def test_a_missing_pin_is_not_an_error(tmp_path: Path) -> None:
    assert read_pin(tmp_path / "pin") is None


def test_a_file_that_is_not_a_pin_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pin").write_text("")

    with pytest.raises(UsageError, match="is not a valid pin file: its text is not three lines"):
        read_pin(tmp_path / "pin")
