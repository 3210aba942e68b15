"""Large bodies are written without copying, with the same bytes as small ones."""

from __future__ import annotations

import os
import tarfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

from forum_runner.ledger import Body, Verdict, create_ledger, open_ledger, verify
from forum_runner.ledger.archive import LARGE_BYTES, commitment, header, member_parts
from forum_runner.ledger.source import ledger_at

SIZES = (LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1, LARGE_BYTES + 511, LARGE_BYTES + 512, 3 * LARGE_BYTES)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "run"


def members(run_dir: Path) -> list[tuple[str, bytes]]:
    """Return the folder and the content of each member, without salts."""
    found = []
    with tarfile.open(run_dir / "bodies.tar", "r:") as archive:
        for info in archive:
            folder = info.name.partition("/")[0]
            content = archive.extractfile(info).read()  # type: ignore[union-attr]  # a regular file
            found.append((folder, content[32 if folder == "salted" else 0 :]))
    return found


def contents_of(sizes: Iterable[int]) -> list[bytes]:
    return [bytes([number]) * size for number, size in enumerate(sizes, 1)]


def is_valid(run_dir: Path) -> bool:
    return verify(ledger_at(run_dir)).verdict is Verdict.VALID


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("salt", [b"", bytes(range(32))])
def test_the_parts_of_a_member_do_not_copy_its_body(size: int, salt: bytes) -> None:
    data = b"\n" * size

    parts = member_parts("ab" * 32, salt, data)

    folder = "salted" if salt else "sha256"
    padding = bytes(-(len(salt) + size) % 512)
    assert b"".join(parts) == header(f"{folder}/{'ab' * 32}".encode(), len(salt) + size) + salt + data + padding
    assert parts[1] is data
    assert commitment(salt, data) == commitment(salt + data)


@pytest.mark.parametrize("is_sensitive", [False, True])
@pytest.mark.parametrize("ends_with_a_large_body", [False, True])
def test_large_and_small_bodies_of_one_commit_are_stored_in_order(
    run_dir: Path, *, is_sensitive: bool, ends_with_a_large_body: bool
) -> None:
    contents = contents_of([10, SIZES[2], SIZES[4], 0, 512, SIZES[5], *([] if ends_with_a_large_body else [700])])

    with create_ledger(run_dir) as ledger:
        for content in contents:
            ledger.stage("x-body", bodies={"body": Body(content, is_sensitive=is_sensitive)})
        ledger.commit()
        ledger.seal("passed")

    folder = "salted" if is_sensitive else "sha256"
    assert members(run_dir) == [(folder, content) for content in contents]
    assert is_valid(run_dir)


def test_a_large_body_overwrites_the_end_marker_of_a_sealed_archive(run_dir: Path) -> None:
    first, second = contents_of([LARGE_BYTES + 1, LARGE_BYTES + 2])
    with create_ledger(run_dir) as ledger:
        ledger.append("x-body", bodies={"body": Body(first)})
        ledger.seal("passed")

    with open_ledger(run_dir) as ledger:
        ledger.append("x-body", bodies={"body": Body(second)})
        ledger.append("x-body", bodies={"body": Body(first)})
        ledger.seal("passed")

    assert members(run_dir) == [("sha256", first), ("sha256", second)]
    assert is_valid(run_dir)


def test_a_large_body_added_again_after_its_redaction_is_salted(run_dir: Path) -> None:
    content = contents_of([LARGE_BYTES + 1])[0]

    with create_ledger(run_dir) as ledger:
        seq = ledger.append("x-body", bodies={"body": Body(content)})
        ledger.redact(seq, "body", "")
        ledger.append("x-body", bodies={"body": Body(content)})
        ledger.seal("passed")

    assert [member for member in members(run_dir) if len(member[1]) > LARGE_BYTES] == [
        ("redacted", bytes(len(content))),
        ("salted", content),
    ]
    assert is_valid(run_dir)


def test_a_short_write_is_continued(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = contents_of([10, 2 * LARGE_BYTES, 700])
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: pwrite(file, memoryview(data)[:100_000], at))

    with create_ledger(run_dir) as ledger:
        for content in contents:
            ledger.stage("x-body", bodies={"body": Body(content)})
        ledger.seal("passed")

    assert members(run_dir) == [("sha256", content) for content in contents]
    assert is_valid(run_dir)


@pytest.mark.parametrize("is_sensitive", [False, True])
def test_a_large_body_is_written_without_a_copy(run_dir: Path, *, is_sensitive: bool) -> None:
    body = Body(bytes(16 * LARGE_BYTES), is_sensitive=is_sensitive)

    with create_ledger(run_dir) as ledger:
        tracemalloc.start()
        try:
            ledger.append("x-body", bodies={"small": Body(b"small"), "zeros": body})
            ledger.answer("zeros", body)
            peak_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak_bytes < LARGE_BYTES
