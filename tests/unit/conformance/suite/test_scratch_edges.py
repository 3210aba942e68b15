"""Changes that a program makes to its input folder are detected, and affect only its own vector."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forum_conformance.suite.output import NotAFile, read_written
from forum_conformance.suite.scratch import Place, place_for
from forum_conformance.suite.vectors import Vectors
from suites.tiny_set import canonicalize_case, verify_case, write_set

ALL = ["run/bodies.tar", "run/ledger.jsonl"]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    return Vectors(write_set(tmp_path / "vectors", verify_case("a/a"), canonicalize_case("b/b")))


@pytest.fixture
def place(vectors: Vectors, scratch: Path) -> Iterator[Place]:
    with place_for(vectors.cases["a/a"], vectors, scratch) as found:
        yield found


def enlarge(place: Place) -> None:
    # A sparse file: larger than any memory, and as small on disk as before.
    os.truncate(place.folder / "run/ledger.jsonl", 1 << 43)


def replace_file_by_link(place: Place) -> None:
    (place.folder / "run/ledger.jsonl").rename(place.output)
    (place.folder / "run/ledger.jsonl").symlink_to(place.output)


def replace_file_by_pipe(place: Place) -> None:
    (place.folder / "run/ledger.jsonl").unlink()
    os.mkfifo(place.folder / "run/ledger.jsonl")


def replace_folder_by_link(place: Place) -> None:
    """The link's target has the same files."""
    place.folder.rename(place.folder.parent / "target")
    place.folder.symlink_to(place.folder.parent / "target")


def replace_all_by_link(place: Place) -> None:
    top = place.folder.parent
    top.rename(top.parent / "target")
    top.symlink_to(top.parent / "target")


def replace_folder_by_file(place: Place) -> None:
    shutil.rmtree(place.folder)
    place.folder.write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "changed"),
    [
        (lambda _: None, []),
        (lambda place: (place.folder / "run/ledger.jsonl").write_bytes(b"[]\n"), ["run/ledger.jsonl"]),
        (lambda place: (place.folder / "more").write_bytes(b""), ["more"]),
        (enlarge, ["run/ledger.jsonl"]),
        (replace_file_by_link, ["run/ledger.jsonl"]),
        (replace_file_by_pipe, ["run/ledger.jsonl"]),
        (replace_folder_by_link, ALL),
        (replace_all_by_link, ALL),
        (replace_folder_by_file, ALL),
        (lambda place: shutil.rmtree(place.folder), ALL),
        (lambda place: shutil.rmtree(place.folder.parent), ALL),
        (lambda place: shutil.rmtree(place.folder.parent.parent), ALL),
    ],
)
def test_changed_files_are_reported(place: Place, spoil: Callable[[Place], None], changed: list[str]) -> None:
    spoil(place)

    assert place.changed() == changed


def test_the_next_vector_gets_a_folder_after_everything_was_removed(vectors: Vectors, scratch: Path) -> None:
    with place_for(vectors.cases["a/a"], vectors, scratch):
        shutil.rmtree(scratch)

    with place_for(vectors.cases["b/b"], vectors, scratch) as place:
        assert (place.folder / "input.json").read_bytes() == b"[1.0]"


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")
@pytest.mark.parametrize("unreadable", ["outputs/a", "ledger.jsonl"])
def test_an_unreadable_file_is_reported(tmp_path: Path, unreadable: str) -> None:
    (tmp_path / "run/outputs").mkdir(parents=True)
    for name in ("ledger.jsonl", "outputs/a"):
        (tmp_path / "run" / name).write_bytes(b"")
    (tmp_path / "run" / unreadable).chmod(0)

    with pytest.raises(NotAFile, match=f"'{unreadable}' cannot be read: Permission denied") as raised:
        read_written(tmp_path / "run")

    assert (raised.value.place, raised.value.came) == (unreadable, "cannot be read: Permission denied")


def test_an_output_below_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "top").write_bytes(b"")

    with pytest.raises(NotAFile, match="'result' cannot be read: Not a directory"):
        read_written(tmp_path / "top" / "result")


def test_the_total_size_of_read_files_is_limited(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "outputs" / name).write_bytes(b"")
        os.truncate(tmp_path / "outputs" / name, 1 << 40)

    read = read_written(tmp_path)

    assert isinstance(read, dict)
    assert {name: len(data) for name, data in read.items()} == {"outputs/a": 1 << 26, "outputs/b": 0, "outputs/c": 0}
