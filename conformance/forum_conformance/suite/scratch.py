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
from forum_conformance.suite.output import Output, compared_files
from forum_conformance.suite.vectors import CASE, Vectors


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """The original state of a file."""

    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class ScratchCopy:
    folder: Path
    """The copy of the vector's files."""
    output: Path
    """Where the program writes its result."""
    originals: Mapping[str, OriginalFile]
    """The files in `folder`, by relative path."""

    def changed_files(self) -> list[str]:
        """The files that were changed, added or removed; all files if the directory cannot be read."""
        # Do not follow a link that replaces a directory: it may lead to a tree of any size.
        if not _is_folder(self.folder.parent) or not _is_folder(self.folder):
            return sorted(self.originals)
        try:
            paths = [path for path in self.folder.rglob("*") if not _is_folder(path)]
        except OSError:
            return sorted(self.originals)
        existing = {path.relative_to(self.folder).as_posix(): path for path in paths}
        names = sorted(existing.keys() | self.originals.keys())
        return [name for name in names if not _is_same(existing.get(name), self.originals.get(name))]


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _is_same(path: Path | None, original: OriginalFile | None) -> bool:
    """An unreadable file counts as changed."""
    if path is None or original is None:
        return False
    try:
        status = path.lstat()
        # Check the size first: a sparse file can be larger than memory.
        if not stat.S_ISREG(status.st_mode) or status.st_size != original.size:
            return False
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == original.digest
    except OSError:
        return False


@contextmanager
def scratch_copy(case: Case, vectors: Vectors, scratch: Path) -> Iterator[ScratchCopy]:
    """Copy the vector's visible files, and its initial run directory to `output`; remove everything at the end."""
    # An earlier program may have removed it.
    scratch.mkdir(mode=0o700, exist_ok=True)
    top = Path(mkdtemp(dir=scratch))
    try:
        contents = {name: vectors.read(case, name) for name in _visible_files(case)}
        originals = {name: OriginalFile(len(data), case.files[name]) for name, data in contents.items()}
        copy = ScratchCopy(top / "vector", top / "result", originals)
        copy.folder.mkdir()
        for name, data in contents.items():
            _write(copy.folder / name, data)
        if case.initial_run is not None:
            for name, data in _files_below(case, vectors, case.initial_run).items():
                _write(copy.output / name, data)
        yield copy
    finally:
        shutil.rmtree(top, ignore_errors=True)


def expected_output(case: Case, vectors: Vectors) -> Output:
    """The expected content of `output`: if a program must refuse, nothing or the initial content."""
    path = case.expected.get("output") or case.initial_run
    if path is None:
        return None
    return vectors.read(case, path) if path in case.files else compared_files(_files_below(case, vectors, path))


def _visible_files(case: Case) -> list[str]:
    """The files that the program may read: all files except case.json, the expected output and the initial run.

    A file that the request names is visible in any case.
    """
    requested = [case.request[member] for member in PATH_MEMBERS if member in case.request]
    hidden = [path for path in (case.expected.get("output"), case.initial_run) if path is not None]
    return [name for name in case.files if name != CASE and (_is_in(name, requested) or not _is_in(name, hidden))]


def _is_in(name: str, paths: list[str]) -> bool:
    return any(path == "." or name == path or name.startswith(f"{path}/") for path in paths)


def _files_below(case: Case, vectors: Vectors, folder: str) -> dict[str, bytes]:
    names = [name for name in case.files if name.startswith(f"{folder}/")]
    return {name.removeprefix(f"{folder}/"): vectors.read(case, name) for name in names}


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
