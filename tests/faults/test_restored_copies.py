"""Copies of bodies are restored after a crash between an entry and its copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.aftermath import bytes_in, check_valid
from forum_runner.ledger import Body, create_ledger, open_ledger
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


def test_a_redacted_body_is_not_copied_again(directory: Path) -> None:
    with open_ledger(directory) as ledger:
        ledger.redact(1, "value", "requested")

    open_ledger(directory).close()

    check_valid(directory)
    assert not (directory / "outputs" / "notes.txt").exists()
