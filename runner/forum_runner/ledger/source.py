"""Finds and opens ledgers: by run directory, file, run id, or standard input."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from forum_runner.errors import UsageError
from forum_runner.ledger.layout import LEDGER
from forum_runner.ledger.lines import BUFFER_BYTES, MAX_HELD_BYTES, Lines
from forum_runner.workspace import Workspace

STANDARD_INPUT = "-"
_RUN_ID_OR_PREFIX = re.compile(r"[0-9a-f][0-9a-f-]{7,35}")


@dataclass(frozen=True, slots=True)
class LedgerSource:
    """Where to read a ledger. `path` is the file, None for standard input; `directory` is the run directory, if given.

    Messages call the source `name`.
    """

    name: str
    path: Path | None
    directory: Path | None = None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Opens the ledger for reading. Standard input can be read once, and stays open."""
        try:
            # Descriptor 0, not `sys.stdin`, which is None in a process without standard input.
            file = 0 if self.path is None else self.path
            stream = open(file, "rb", BUFFER_BYTES, closefd=self.path is not None)  # noqa: SIM115 - closed below
        except OSError as error:
            raise UsageError(f"cannot read '{self.name}': {error.strerror}") from error
        with stream:
            yield stream

    @contextmanager
    def lines(self) -> Iterator[Lines]:
        with self.open() as stream:
            yield Lines(stream)

    @contextmanager
    def open_seekable(self) -> Iterator[BinaryIO]:
        """Opens the ledger so that any position can be read again. A pipe is copied to a temporary file."""
        with self.open() as stream:
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                yield stream
                return
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(stream, copy, MAX_HELD_BYTES)
                copy.seek(0)
                yield cast(BinaryIO, copy)

    def follow(self, keep_following: Callable[[], bool]) -> Iterator[bytes | None]:
        """Yields lines as they are written, and None if there are none, as long as `keep_following` returns True.

        A line is complete once its LF is written. Bytes after the last LF are read again each time: a writer that
        reopens the ledger replaces a torn tail. Anything but a regular file is read to its end.
        """
        with self.open() as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                yield from Lines(stream)
                return
            offset = 0
            while True:
                data = os.pread(stream.fileno(), MAX_HELD_BYTES, offset)
                end = data.rfind(b"\n")
                if end >= 0:
                    yield from data[:end].split(b"\n")
                    offset += end + 1
                    continue
                self._check_end(stream, offset, data)
                if not keep_following():
                    return
                yield None

    def _check_end(self, stream: BinaryIO, offset: int, data: bytes) -> None:
        if len(data) == MAX_HELD_BYTES:
            raise UsageError(f"cannot follow '{self.name}': a line has more than {MAX_HELD_BYTES:,} bytes")
        if os.fstat(stream.fileno()).st_size < offset:
            raise UsageError(f"cannot follow '{self.name}': the file was truncated")


def find_ledger(run: str, workspace: Workspace) -> LedgerSource:
    """Resolves a RUN argument: `-`, an existing path, or a run id. A path takes precedence over an id."""
    if run == STANDARD_INPUT:
        return LedgerSource("standard input", None)
    path = workspace.path(run)
    if _mode_of(path) is None:
        path = _find_run(run, workspace.runs)
        return _in_directory(str(path), path)
    return ledger_at(path, run)


def ledger_at(path: Path, name: str | None = None) -> LedgerSource:
    """The ledger in a run directory, or a ledger file. Messages call it `name`."""
    mode = _mode_of(path)
    if mode is not None and stat.S_ISDIR(mode):
        return _in_directory(name or str(path), path)
    return LedgerSource(name or str(path), path)


def _in_directory(name: str, directory: Path) -> LedgerSource:
    path = directory / LEDGER
    mode = _mode_of(path)
    if mode is None:
        raise UsageError(f"no {LEDGER} in '{name}'")
    if not stat.S_ISREG(mode):
        raise UsageError(f"'{path}' is not a regular file, so it is not a ledger")
    return LedgerSource(name, path, directory)


def _find_run(id_: str, runs: Path) -> Path:
    """The run directory whose name is the id or, if none is, the only one whose name starts with the id."""
    if not _RUN_ID_OR_PREFIX.fullmatch(id_):
        raise UsageError(f"no file, directory or run '{id_}'")
    try:
        matches = sorted(path for path in runs.iterdir() if path.name.startswith(id_))
    except FileNotFoundError:
        matches = []
    except OSError as error:
        raise UsageError(f"cannot read '{runs}': {error.strerror}") from error
    if not matches:
        raise UsageError(f"no file or directory '{id_}', and no run with this id in '{runs}'")
    exact = [path for path in matches if path.name == id_]
    if len(matches) > 1 and not exact:
        listed = ", ".join(path.name for path in matches[:4]) + (", ..." if len(matches) > 4 else "")
        raise UsageError(f"{len(matches)} run ids start with '{id_}': {listed}")
    return (exact or matches)[0]


def _mode_of(path: Path) -> int | None:
    """The file mode, which includes the type of the file; None if the path does not exist."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
