"""Copies of bodies are restored after a crash between an entry and its copy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faults.aftermath import bytes_in, check_valid
from forum_runner.errors import UsageError
from forum_runner.ledger import Body, create_ledger, open_ledger
from forum_runner.ledger.writer import LedgerBrokenError
from ledgers.plans import plan_of

pytestmark = pytest.mark.requirement("LEDGER-DIR-002", "LEDGER-TORN-002")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with create_ledger(tmp_path / "run", wave_plan=plan_of("two_waves")) as ledger:
        ledger.answer("notes", Body.text("notes"))
        ledger.answer("secret", Body(b"secret", is_sensitive=True))
        ledger.seal("passed")
    check_valid(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("name", ["wave-plan.json", "outputs/notes.txt", "outputs/secret.bin"])
@pytest.mark.parametrize("content", [None, b"", b"an earlier answer"], ids=["missing", "empty", "different"])
def test_a_missing_or_different_copy_is_rewritten(directory: Path, name: str, content: bytes | None) -> None:
    before = bytes_in(directory)
    (directory / name).unlink()
    if content is not None:
        (directory / name).write_bytes(content)

    open_ledger(directory).close()

    assert bytes_in(directory) == before


def test_only_the_temporary_files_of_killed_writes_are_removed(directory: Path) -> None:
    before = bytes_in(directory)
    for name in (".checkpoint.abcdefgh", ".wave-plan.json.a_b_c_d_", "outputs/.notes.txt.01234567"):
        (directory / name).write_bytes(b"half")
    (directory / "outputs" / ".gitkeep").write_bytes(b"")

    open_ledger(directory).close()

    assert bytes_in(directory) == before | {"outputs/.gitkeep": b""}


def test_a_symlink_is_replaced_by_the_copy_and_its_target_is_kept(directory: Path, tmp_path: Path) -> None:
    before = bytes_in(directory)
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    (directory / "outputs" / "notes.txt").unlink()
    (directory / "outputs" / "notes.txt").symlink_to(outside)

    open_ledger(directory).close()

    assert outside.read_bytes() == b"mine"
    assert bytes_in(directory) == before
    assert not (directory / "outputs" / "notes.txt").is_symlink()


@pytest.mark.parametrize("name", ["outputs", "torn"])
def test_a_folder_that_is_a_link_is_refused_and_nothing_is_written_to_its_target(
    directory: Path, tmp_path: Path, name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if (directory / name).exists():
        (directory / name).rename(directory / "moved")
    (directory / name).symlink_to(elsewhere)
    with (directory / "ledger.jsonl").open("ab") as stream:
        stream.write(b"{torn")
    before = bytes_in(directory)

    with pytest.raises(UsageError, match=f"'{directory / name}' is a symbolic link"):
        open_ledger(directory)

    assert list(elsewhere.iterdir()) == []
    assert bytes_in(directory) == before


@pytest.mark.parametrize("name", ["ledger.jsonl", "bodies.tar"])
def test_a_ledger_is_not_written_through_a_link(directory: Path, tmp_path: Path, name: str) -> None:
    (directory / name).rename(tmp_path / name)
    (directory / name).symlink_to(tmp_path / name)
    before = (tmp_path / name).read_bytes()

    with pytest.raises(UsageError, match=f"'{directory / name}' is a symbolic link"):
        open_ledger(directory)

    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("name", ["ledger.jsonl", "bodies.tar"])
def test_a_new_ledger_does_not_create_the_target_of_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "outside")

    with pytest.raises(UsageError, match=f"'{tmp_path / 'run' / name}' is a symbolic link"):
        create_ledger(tmp_path / "run")

    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("name", ["wave-plan.json", "outputs/notes.txt", "checkpoint"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_link_or_pipe_is_replaced_when_its_file_is_written(
    directory: Path, tmp_path: Path, name: str, kind: str
) -> None:
    (directory / name).unlink()
    if kind == "link":
        (directory / name).symlink_to(tmp_path / "outside")
    else:
        os.mkfifo(directory / name)

    with open_ledger(directory) as ledger:
        ledger.redact(2, "value", "requested")

    check_valid(directory)
    assert not (directory / name).is_symlink()
    assert not (tmp_path / "outside").exists()


def test_an_output_is_not_written_through_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()

    with create_ledger(tmp_path / "run", wave_plan=plan_of("two_waves")) as ledger:
        (tmp_path / "run" / "outputs").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(LedgerBrokenError, match="run/outputs' could not be written: Not a directory"):
            ledger.answer("notes", Body.text("notes"))

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_torn_tail_is_not_copied_through_a_link(directory: Path, tmp_path: Path) -> None:
    (directory / "torn").mkdir()
    (directory / "torn" / ".ledger.jsonl").symlink_to(tmp_path / "outside")
    with (directory / "ledger.jsonl").open("ab") as stream:
        stream.write(b"{torn")

    open_ledger(directory).close()

    check_valid(directory)
    assert not (tmp_path / "outside").exists()


def test_a_redacted_body_is_not_copied_again(directory: Path) -> None:
    with open_ledger(directory) as ledger:
        ledger.redact(1, "value", "requested")

    open_ledger(directory).close()

    check_valid(directory)
    assert not (directory / "outputs" / "notes.txt").exists()
