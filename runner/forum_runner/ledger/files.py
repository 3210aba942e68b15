"""Locks, writes and syncs the two files of a ledger, without knowing about entries."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from forum_runner.errors import UsageError
from forum_runner.ledger.archive import END_OF_ARCHIVE, LARGE_BYTES
from forum_runner.ledger.layout import BODIES, LEDGER, OUTPUTS, TORN_TAILS
from forum_runner.write_file import sync_directory

_BATCH_S = 1.0
_READ_WRITE = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_CLOSED = -1


class Durability(StrEnum):
    """When an entry counts as written (LEDGER-WRITE-002)."""

    EACH = "each"
    BATCH = "batch"
    NONE = "none"


class LedgerBusyError(UsageError):
    """Another process, or another writer in this process, has locked the ledger."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        super().__init__(f"another process or writer is already writing '{directory}'")


class LedgerFiles:
    """Both files, open and locked. `ledger_end` and `bodies_end` are the offsets of the next line and the next body."""

    def __init__(self, directory: Path, ledger: int, bodies: int, durability: Durability) -> None:
        self.directory = directory
        self.ledger_end = 0
        self.bodies_end = 0
        self._ledger = ledger
        self._bodies = bodies
        self.durability = Durability(durability)
        self.syncs_each_commit = self.durability is Durability.EACH
        self._synced_at = time.monotonic()
        self._has_unsynced_bodies = False

    @classmethod
    def create(cls, directory: Path, durability: Durability) -> LedgerFiles:
        """Creates the files in a directory without a ledger, or takes over the empty files of a killed creation.

        The archive comes first: a ledger without its archive would be damaged.
        """
        to_sync = _make_directory(directory)
        _refuse_existing_ledger(directory / LEDGER)
        _refuse_outputs(directory / OUTPUTS)
        with ExitStack() as stack:
            bodies = _open_locked(directory / BODIES, _READ_WRITE | os.O_CREAT, stack)
            _refuse_unless_empty_file(bodies, directory / BODIES)
            ledger = _open_locked(directory / LEDGER, _READ_WRITE | os.O_CREAT, stack)
            _refuse_unless_empty_file(ledger, directory / LEDGER)
            files = cls(directory, ledger, bodies, durability)
            for path in to_sync if files.durability is not Durability.NONE else ():
                sync_directory(path)
            stack.pop_all()
        return files

    @classmethod
    def open(cls, directory: Path, durability: Durability) -> LedgerFiles:
        """Opens an existing ledger, and locks it before anything is read."""
        for folder in (directory / OUTPUTS, directory / TORN_TAILS):
            if folder.is_symlink():
                _refuse_link(folder)
        with ExitStack() as stack:
            try:
                ledger = _open_locked(directory / LEDGER, _READ_WRITE, stack)
                bodies = _open_locked(directory / BODIES, _READ_WRITE, stack)
            except FileNotFoundError as error:
                raise UsageError(f"no {Path(error.filename).name} in '{directory}'") from None
            files = cls(directory, ledger, bodies, durability)
            stack.pop_all()
        # An earlier writer may have been killed between a write and its sync.
        files._has_unsynced_bodies = True
        return files

    def write(self, bodies: Sequence[bytes], lines: Sequence[bytes], *, is_sealed: bool, is_end: bool) -> None:
        """Writes the parts of bodies, then the lines. Syncs the bodies before the lines, if a sync is due.

        `is_sealed` also writes the end of the archive. `is_end` makes a sync due: the run ends or pauses.
        """
        is_sync_due = self.syncs_each_commit or self._is_sync_due(is_end)
        if bodies or is_sealed:
            self._write_bodies(bodies, is_sealed)
        if is_sync_due and self._has_unsynced_bodies:
            os.fdatasync(self._bodies)
            self._has_unsynced_bodies = False
        data = b"".join(lines)
        _write(self._ledger, data, self.ledger_end)
        self.ledger_end += len(data)
        if is_sync_due:
            os.fdatasync(self._ledger)

    def _write_bodies(self, parts: Sequence[bytes], is_sealed: bool) -> None:
        size = sum(map(len, parts))
        if size <= LARGE_BYTES:
            parts = (b"".join(parts),)
        end = self.bodies_end
        for part in (*parts, END_OF_ARCHIVE) if is_sealed else parts:
            _write(self._bodies, part, end)
            end += len(part)
        self.bodies_end += size
        self._has_unsynced_bodies = True
        if size < len(END_OF_ARCHIVE) and not is_sealed:
            # The bytes may replace the end of the archive without covering all of it.
            os.ftruncate(self._bodies, self.bodies_end)

    def _is_sync_due(self, is_end: bool) -> bool:
        now = time.monotonic()
        if self.durability is Durability.NONE or not (is_end or now - self._synced_at >= _BATCH_S):
            return False
        self._synced_at = now
        return True

    def sync(self, *, always: bool = False) -> None:
        """Syncs everything written so far. With durability `none`, only if `always` is set."""
        if (always or self.durability is not Durability.NONE) and self._ledger != _CLOSED:
            os.fdatasync(self._bodies)
            os.fdatasync(self._ledger)

    def truncate(self, name: str, end: int) -> None:
        """Removes the torn tail of one of the files."""
        descriptor = self._ledger if name == LEDGER else self._bodies
        os.ftruncate(descriptor, end)
        os.fsync(descriptor)

    def end_archive(self) -> None:
        """Writes the end of the archive: a killed writer may have overwritten it."""
        _write(self._bodies, END_OF_ARCHIVE, self.bodies_end)
        os.fdatasync(self._bodies)

    def overwrite_body(self, offset: int, head: bytes, size: int) -> None:
        """Overwrites a body with zeros, and only then its header: an interrupted redaction can be recognized."""
        zeros = bytes(min(size, 1 << 20))
        done = 0
        while done < size:
            done += os.pwrite(self._bodies, zeros[: size - done], offset + len(head) + done)
        os.fdatasync(self._bodies)
        _write(self._bodies, head, offset)
        os.fdatasync(self._bodies)

    def discard(self, extra_files: Iterable[str] = ()) -> None:
        """Removes both files and the extra files, and only then releases the locks, to keep the next owner's files."""
        try:
            # The archive is removed last, because a writer that creates a ledger locks the archive first.
            for name in (LEDGER, *extra_files, BODIES):
                (self.directory / name).unlink(missing_ok=True)
        finally:
            self.close()

    def close(self) -> None:
        """Closes the files, which releases the locks. A second call does nothing: the descriptors may be reused."""
        descriptors = [number for number in (self._bodies, self._ledger) if number != _CLOSED]
        self._bodies = self._ledger = _CLOSED
        for descriptor in descriptors:
            os.close(descriptor)


def is_being_written(directory: Path) -> bool:
    """Whether a writer has locked the ledger. The check itself locks the ledger for a moment."""
    descriptor = os.open(directory / LEDGER, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _make_directory(directory: Path) -> list[Path]:
    """Creates the directory and its missing parents, and returns the directories to sync."""
    missing = [path for path in directory.parents if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    return [directory, directory.parent, *(path.parent for path in missing)]


def _refuse_unless_empty_file(descriptor: int, path: Path) -> None:
    if os.fstat(descriptor).st_size:
        _refuse(path)


def _refuse_existing_ledger(path: Path) -> None:
    """Raises if the directory has a ledger: a LedgerBusyError if it is being written."""
    try:
        if not path.stat().st_size:
            return
        with ExitStack() as stack:
            _open_locked(path, _READ_WRITE, stack)
    except FileNotFoundError:
        return
    _refuse(path)


def _refuse_outputs(outputs: Path) -> None:
    if outputs.exists() and (not outputs.is_dir() or any(outputs.iterdir())):
        _refuse(outputs)


def _refuse(path: Path) -> NoReturn:
    raise UsageError(f"'{path}' already exists; choose an empty directory for the ledger")


def _refuse_link(path: Path) -> NoReturn:
    raise UsageError(f"'{path}' is a symbolic link, which could lead elsewhere; replace it with a copy of its target")


def make_folder(path: Path) -> bool:
    """Creates a folder in a run directory. Returns False if it exists. Raises an OSError if it is a link or a file."""
    try:
        path.mkdir()
    except FileExistsError:
        if stat.S_ISDIR(path.lstat().st_mode):
            return False
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    return True


def _open_locked(path: Path, flags: int, stack: ExitStack) -> int:
    """Opens and locks a file, which the stack closes. Raises a LedgerBusyError if another writer has locked it."""
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            _refuse_link(path)
        raise
    stack.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LedgerBusyError(path.parent) from None
    try:
        is_current = os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        is_current = False
    # A failed creation may have removed the file before it was locked, and writes to it would be lost.
    if not is_current:
        raise LedgerBusyError(path.parent)
    return descriptor


def _write(descriptor: int, data: bytes, offset: int) -> None:
    """Writes all bytes, and continues after a short write."""
    written = os.pwrite(descriptor, data, offset)
    while written < len(data):
        written += os.pwrite(descriptor, memoryview(data)[written:], offset + written)
