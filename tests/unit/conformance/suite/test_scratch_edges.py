"""Changes that a program makes to its copy of a vector are detected, and affect only that vector."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forum_conformance.suite.output import NotAFile, read_output
from forum_conformance.suite.scratch import ScratchCopy, scratch_copy
from forum_conformance.suite.vectors import Vectors
from suites.tiny_set import canonicalize_case, verify_case, write_set

ALL_FILES = ["run/bodies.tar", "run/ledger.jsonl"]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    return Vectors(write_set(tmp_path / "vectors", verify_case("a/a"), canonicalize_case("b/b")))


@pytest.fixture
def copy(vectors: Vectors, scratch: Path) -> Iterator[ScratchCopy]:
    with scratch_copy(vectors.cases["a/a"], vectors, scratch) as copy:
        yield copy


def enlarge(copy: ScratchCopy) -> None:
    # A sparse file: larger than any memory, but no larger on disk than before.
    os.truncate(copy.folder / "run/ledger.jsonl", 1 << 43)


def replace_file_by_link(copy: ScratchCopy) -> None:
    (copy.folder / "run/ledger.jsonl").rename(copy.output)
    (copy.folder / "run/ledger.jsonl").symlink_to(copy.output)


def replace_file_by_pipe(copy: ScratchCopy) -> None:
    (copy.folder / "run/ledger.jsonl").unlink()
    os.mkfifo(copy.folder / "run/ledger.jsonl")


def replace_folder_by_link(copy: ScratchCopy) -> None:
    """The link's target has the same files."""
    copy.folder.rename(copy.folder.parent / "target")
    copy.folder.symlink_to(copy.folder.parent / "target")


def replace_all_by_link(copy: ScratchCopy) -> None:
    top = copy.folder.parent
    top.rename(top.parent / "target")
    top.symlink_to(top.parent / "target")


def replace_folder_by_file(copy: ScratchCopy) -> None:
    shutil.rmtree(copy.folder)
    copy.folder.write_bytes(b"")


@pytest.mark.parametrize(
    ("change", "changed_files"),
    [
        (lambda _: None, []),
        (lambda copy: (copy.folder / "run/ledger.jsonl").write_bytes(b"[]\n"), ["run/ledger.jsonl"]),
        (lambda copy: (copy.folder / "more").write_bytes(b""), ["more"]),
        (enlarge, ["run/ledger.jsonl"]),
        (replace_file_by_link, ["run/ledger.jsonl"]),
        (replace_file_by_pipe, ["run/ledger.jsonl"]),
        (replace_folder_by_link, ALL_FILES),
        (replace_all_by_link, ALL_FILES),
        (replace_folder_by_file, ALL_FILES),
        (lambda copy: shutil.rmtree(copy.folder), ALL_FILES),
        (lambda copy: shutil.rmtree(copy.folder.parent), ALL_FILES),
        (lambda copy: shutil.rmtree(copy.folder.parent.parent), ALL_FILES),
    ],
)
def test_changed_files_are_reported(
    copy: ScratchCopy, change: Callable[[ScratchCopy], None], changed_files: list[str]
) -> None:
    change(copy)

    assert copy.changed_files() == changed_files


def test_the_next_vector_gets_a_folder_after_everything_was_removed(vectors: Vectors, scratch: Path) -> None:
    with scratch_copy(vectors.cases["a/a"], vectors, scratch):
        shutil.rmtree(scratch)

    with scratch_copy(vectors.cases["b/b"], vectors, scratch) as copy:
        assert (copy.folder / "input.json").read_bytes() == b"[1.0]"


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")
@pytest.mark.parametrize("unreadable", ["outputs/a", "ledger.jsonl"])
def test_an_unreadable_file_is_reported(tmp_path: Path, unreadable: str) -> None:
    (tmp_path / "run/outputs").mkdir(parents=True)
    for name in ("ledger.jsonl", "outputs/a"):
        (tmp_path / "run" / name).write_bytes(b"")
    (tmp_path / "run" / unreadable).chmod(0)

    with pytest.raises(NotAFile, match=f"'{unreadable}' cannot be read: Permission denied") as raised:
        read_output(tmp_path / "run")

    assert (raised.value.place, raised.value.description) == (unreadable, "cannot be read: Permission denied")


def test_an_output_below_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "top").write_bytes(b"")

    with pytest.raises(NotAFile, match="'result' cannot be read: Not a directory"):
        read_output(tmp_path / "top" / "result")


def test_the_total_size_of_read_files_is_limited(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "outputs" / name).write_bytes(b"")
        os.truncate(tmp_path / "outputs" / name, 1 << 40)

    output = read_output(tmp_path)

    assert isinstance(output, dict)
    assert {name: len(data) for name, data in output.items()} == {"outputs/a": 1 << 26, "outputs/b": 0, "outputs/c": 0}
