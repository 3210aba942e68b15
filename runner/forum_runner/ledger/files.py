"""Locks, writes and syncs the two files of a ledger, without knowing about entries."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from forum_runner.errors import UsageError
from forum_runner.ledger.archive import END, LARGE_BYTES
from forum_runner.ledger.layout import BODIES, LEDGER, OUTPUTS
from forum_runner.write_file import sync_directory

_BATCH_S = 1.0
_READ_WRITE = os.O_RDWR | os.O_CLOEXEC
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
        self.syncs_each = self.durability is Durability.EACH
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
        bodies = _open_locked(directory / BODIES, _READ_WRITE | os.O_CREAT)
        try:
            _refuse_unless_empty_file(bodies, directory / BODIES)
            ledger = _open_locked(directory / LEDGER, _READ_WRITE | os.O_CREAT)
        except BaseException:
            os.close(bodies)
            raise
        files = cls(directory, ledger, bodies, durability)
        try:
            _refuse_unless_empty_file(ledger, directory / LEDGER)
            for path in to_sync if files.durability is not Durability.NONE else ():
                sync_directory(path)
        except BaseException:
            files.close()
            raise
        return files

    @classmethod
    def open(cls, directory: Path, durability: Durability) -> LedgerFiles:
        """Opens an existing ledger, and locks it before anything is read."""
        try:
            ledger = _open_locked(directory / LEDGER, _READ_WRITE)
        except FileNotFoundError:
            raise UsageError(f"no {LEDGER} in '{directory}'") from None
        try:
            bodies = _open_locked(directory / BODIES, _READ_WRITE)
        except BaseException as error:
            os.close(ledger)
            if isinstance(error, FileNotFoundError):
                raise UsageError(f"no {BODIES} in '{directory}'") from None
            raise
        files = cls(directory, ledger, bodies, durability)
        # An earlier writer may have been killed between a write and its sync.
        files._has_unsynced_bodies = True
        return files

    def write(self, bodies: Sequence[bytes], lines: Sequence[bytes], *, is_sealed: bool, is_end: bool) -> None:
        """Writes the parts of bodies, syncs them, and then writes the lines. Before a seal it ends the archive.

        At the end of a run, or of a session, everything is synced.
        """
        is_sync_due = self.syncs_each or self._is_sync_due(is_end)
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
        for part in (*parts, END) if is_sealed else parts:
            _write(self._bodies, part, end)
            end += len(part)
        self.bodies_end += size
        self._has_unsynced_bodies = True
        if size < len(END) and not is_sealed:
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

    def cut(self, name: str, end: int) -> None:
        """Cuts off the torn tail of one of the files."""
        descriptor = self._ledger if name == LEDGER else self._bodies
        os.ftruncate(descriptor, end)
        os.fsync(descriptor)

    def end_archive(self) -> None:
        """Writes the end of the archive: a killed writer may have overwritten it."""
        _write(self._bodies, END, self.bodies_end)
        os.fdatasync(self._bodies)

    def overwrite_body(self, offset: int, head: bytes, size: int) -> None:
        """Overwrites the content with zeros, then the header: an interrupted redaction stays recognizable."""
        zeros = bytes(min(size, 1 << 20))
        done = 0
        while done < size:
            done += os.pwrite(self._bodies, zeros[: size - done], offset + len(head) + done)
        os.fdatasync(self._bodies)
        _write(self._bodies, head, offset)
        os.fdatasync(self._bodies)

    def discard(self, beside: Iterable[str] = ()) -> None:
        """Removes both files and those `beside` them before it releases the locks: the next owner keeps its files."""
        try:
            # The archive last: a writer that creates a ledger locks it first.
            for name in (LEDGER, *beside, BODIES):
                (self.directory / name).unlink(missing_ok=True)
        finally:
            self.close()

    def close(self) -> None:
        """Closes the files, which releases the locks. A second call does nothing: the numbers may be reused."""
        descriptors = [number for number in (self._bodies, self._ledger) if number != _CLOSED]
        self._bodies = self._ledger = _CLOSED
        for descriptor in descriptors:
            os.close(descriptor)


def is_being_written(directory: Path) -> bool:
    """Whether a writer has locked the ledger. The check itself locks out writers for a moment."""
    descriptor = os.open(directory / LEDGER, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _make_directory(directory: Path) -> list[Path]:
    """Creates the directory and its missing parents, and returns the directories with new names in them."""
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
        os.close(_open_locked(path, _READ_WRITE))
    except FileNotFoundError:
        return
    _refuse(path)


def _refuse_outputs(outputs: Path) -> None:
    try:
        if next(outputs.iterdir(), None) is None:
            return
    except FileNotFoundError:
        return
    except NotADirectoryError:
        pass
    _refuse(outputs)


def _refuse(path: Path) -> NoReturn:
    raise UsageError(f"'{path}' already exists; choose an empty directory for the ledger")


def _open_locked(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_named(descriptor, path):
            raise LedgerBusyError(path.parent)
    except BlockingIOError:
        os.close(descriptor)
        raise LedgerBusyError(path.parent) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_named(descriptor: int, path: Path) -> bool:
    """Whether the path still names the open file: a failed creation may have removed it, and writes would be lost."""
    found = os.fstat(descriptor)
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (found.st_dev, found.st_ino)


def _write(descriptor: int, data: bytes, offset: int) -> None:
    """Writes all bytes, and continues after a short write."""
    written = os.pwrite(descriptor, data, offset)
    while written < len(data):
        written += os.pwrite(descriptor, memoryview(data)[written:], offset + written)
