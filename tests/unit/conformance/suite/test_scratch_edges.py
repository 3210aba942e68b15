"""What a program may do to the folder that it is shown is seen, and harms nobody but its own vector."""

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
    made = tmp_path / "scratch"
    made.mkdir()
    return made


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    return Vectors(write_set(tmp_path / "vectors", verify_case("a/a"), canonicalize_case("b/b")))


@pytest.fixture
def place(vectors: Vectors, scratch: Path) -> Iterator[Place]:
    with place_for(vectors.cases["a/a"], vectors, scratch) as made:
        yield made


def enlarge(place: Place) -> None:
    # Larger than any memory, and on the disk as small as before.
    os.truncate(place.folder / "run/ledger.jsonl", 1 << 43)


def replace_file_by_link(place: Place) -> None:
    (place.folder / "run/ledger.jsonl").rename(place.output)
    (place.folder / "run/ledger.jsonl").symlink_to(place.output)


def replace_file_by_pipe(place: Place) -> None:
    (place.folder / "run/ledger.jsonl").unlink()
    os.mkfifo(place.folder / "run/ledger.jsonl")


def replace_folder_by_link(place: Place) -> None:
    """The same files stand where the link leads."""
    place.folder.rename(place.folder.parent / "elsewhere")
    place.folder.symlink_to(place.folder.parent / "elsewhere")


def replace_all_by_link(place: Place) -> None:
    top = place.folder.parent
    top.rename(top.parent / "elsewhere")
    top.symlink_to(top.parent / "elsewhere")


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
def test_what_was_changed_is_told(place: Place, spoil: Callable[[Place], None], changed: list[str]) -> None:
    spoil(place)

    assert place.changed() == changed


def test_the_next_vector_has_a_place_after_all_was_removed(vectors: Vectors, scratch: Path) -> None:
    with place_for(vectors.cases["a/a"], vectors, scratch):
        shutil.rmtree(scratch)

    with place_for(vectors.cases["b/b"], vectors, scratch) as place:
        assert (place.folder / "input.json").read_bytes() == b"[1.0]"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
@pytest.mark.parametrize("closed", ["outputs/a", "ledger.jsonl"])
def test_what_was_closed_to_the_suite_is_told(tmp_path: Path, closed: str) -> None:
    (tmp_path / "run/outputs").mkdir(parents=True)
    for name in ("ledger.jsonl", "outputs/a"):
        (tmp_path / "run" / name).write_bytes(b"")
    (tmp_path / "run" / closed).chmod(0)

    with pytest.raises(NotAFile, match=f"'{closed}' cannot be read: Permission denied") as raised:
        read_written(tmp_path / "run")

    assert (raised.value.place, raised.value.came) == (closed, "cannot be read: Permission denied")


def test_an_output_below_what_is_no_folder_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "top").write_bytes(b"")

    with pytest.raises(NotAFile, match="'result' cannot be read: Not a directory"):
        read_written(tmp_path / "top" / "result")


def test_of_many_large_files_only_so_much_is_read_as_fits_together(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "outputs" / name).write_bytes(b"")
        os.truncate(tmp_path / "outputs" / name, 1 << 40)

    read = read_written(tmp_path)

    assert isinstance(read, dict)
    assert {name: len(data) for name, data in read.items()} == {"outputs/a": 1 << 26, "outputs/b": 0, "outputs/c": 0}
