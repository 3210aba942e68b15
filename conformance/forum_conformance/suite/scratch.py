"""A private copy of a vector, so that a program cannot change shared files or read expected ones."""

import hashlib
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from forum_conformance.suite.case import PATH_MEMBERS, Case
from forum_conformance.suite.output import Written, compared_parts
from forum_conformance.suite.vectors import CASE, Vectors


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """The original state of a file."""

    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Place:
    folder: Path
    """The copy of the vector's files."""
    output: Path
    files: Mapping[str, OriginalFile]
    """The files in the directory, by relative path."""

    def changed(self) -> list[str]:
        """The changed files; all of them if the directory itself cannot be read."""
        # Do not follow a link in its place: it may lead to a tree of any size.
        if not _is_folder(self.folder.parent) or not _is_folder(self.folder):
            return sorted(self.files)
        try:
            paths = [path for path in self.folder.rglob("*") if not _is_folder(path)]
        except OSError:
            return sorted(self.files)
        there = {path.relative_to(self.folder).as_posix(): path for path in paths}
        names = sorted(there.keys() | self.files.keys())
        return [name for name in names if not _is_same(there.get(name), self.files.get(name))]


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _is_same(path: Path | None, laid: OriginalFile | None) -> bool:
    """An unreadable file counts as changed."""
    if path is None or laid is None:
        return False
    try:
        found = path.lstat()
        # Check the size first: a sparse file can be larger than memory.
        if not stat.S_ISREG(found.st_mode) or found.st_size != laid.size:
            return False
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == laid.digest
    except OSError:
        return False


@contextmanager
def place_for(case: Case, vectors: Vectors, scratch: Path) -> Iterator[Place]:
    """Copy the vector's files, and the initial run directory to `output`; remove all of it at the end."""
    # An earlier program may have removed it.
    scratch.mkdir(mode=0o700, exist_ok=True)
    top = Path(mkdtemp(dir=scratch))
    try:
        shown = {name: vectors.read(case, name) for name in _shown(case)}
        laid = {name: OriginalFile(len(data), case.files[name]) for name, data in shown.items()}
        place = Place(top / "vector", top / "result", laid)
        place.folder.mkdir()
        for name, data in shown.items():
            _write(place.folder / name, data)
        if case.before is not None:
            for name, data in _files_below(case, vectors, case.before).items():
                _write(place.output / name, data)
        yield place
    finally:
        shutil.rmtree(top, ignore_errors=True)


def expected_output(case: Case, vectors: Vectors) -> Written:
    """The expected content of `output`: if a program must refuse, nothing or the initial content."""
    path = case.expected.get("output") or case.before
    if path is None:
        return None
    return vectors.read(case, path) if path in case.files else compared_parts(_files_below(case, vectors, path))


def _shown(case: Case) -> list[str]:
    named = [case.request[member] for member in PATH_MEMBERS if member in case.request]
    hidden = [path for path in (case.expected.get("output"), case.before) if path is not None]
    return [name for name in case.files if name != CASE and (_is_in(name, named) or not _is_in(name, hidden))]


def _is_in(name: str, paths: list[str]) -> bool:
    return any(path == "." or name == path or name.startswith(f"{path}/") for path in paths)


def _files_below(case: Case, vectors: Vectors, folder: str) -> dict[str, bytes]:
    names = [name for name in case.files if name.startswith(f"{folder}/")]
    return {name.removeprefix(f"{folder}/"): vectors.read(case, name) for name in names}


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
