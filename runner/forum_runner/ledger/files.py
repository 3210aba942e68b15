"""Locks, writes and syncs the two files of a ledger. It knows nothing about entries."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from forum_runner.errors import UsageError
from forum_runner.ledger.archive import END, LargeMember
from forum_runner.ledger.layout import BODIES, LEDGER, OUTPUTS
from forum_runner.write_file import sync_directory

_BATCH_S = 1.0
_OLD = os.O_RDWR | os.O_CLOEXEC
_CLOSED = -1


class Durability(StrEnum):
    """When an entry counts as written: LEDGER-WRITE-002."""

    EACH = "each"
    BATCH = "batch"
    NONE = "none"


class LedgerBusyError(UsageError):
    """Another process, or another writer in this one, holds the lock of this ledger."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        super().__init__(f"another process or writer is already writing '{directory}'")


class LedgerFiles:
    """Both files, open and locked. `ledger_end` and `bodies_end` are where the next line and the next body go."""

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
        """In a directory that holds no ledger; the empty files of a creation that was killed are taken over.

        The bodies come first: a ledger whose bodies are not there would be damaged.
        """
        to_sync = _make_directory(directory)
        _refuse_if_begun(directory / LEDGER)
        _refuse_unless_empty(directory / OUTPUTS)
        bodies = _open_locked(directory / BODIES, _OLD | os.O_CREAT)
        try:
            _refuse_if_filled(bodies, directory / BODIES)
            ledger = _open_locked(directory / LEDGER, _OLD | os.O_CREAT)
        except BaseException:
            os.close(bodies)
            raise
        files = cls(directory, ledger, bodies, durability)
        try:
            _refuse_if_filled(ledger, directory / LEDGER)
            for path in to_sync if files.durability is not Durability.NONE else ():
                sync_directory(path)
        except BaseException:
            files.close()
            raise
        return files

    @classmethod
    def open(cls, directory: Path, durability: Durability) -> LedgerFiles:
        """An existing ledger, locked before anything of it is read."""
        try:
            ledger = _open_locked(directory / LEDGER, _OLD)
        except FileNotFoundError:
            raise UsageError(f"no {LEDGER} in '{directory}'") from None
        try:
            bodies = _open_locked(directory / BODIES, _OLD)
        except BaseException as error:
            os.close(ledger)
            if isinstance(error, FileNotFoundError):
                raise UsageError(f"no {BODIES} in '{directory}'") from None
            raise
        files = cls(directory, ledger, bodies, durability)
        # An earlier writer may have been killed between a write and its sync.
        files._has_unsynced_bodies = True
        return files

    def write(
        self, bodies: Sequence[bytes | LargeMember], lines: Sequence[bytes], *, is_sealed: bool, is_end: bool
    ) -> None:
        """Bodies first, and on disk first. A seal has the end of the archive before it.

        At the end of a run, or of a part of it, nothing waits for a later sync.
        """
        wants_sync = self.syncs_each or is_end or time.monotonic() - self._synced_at >= _BATCH_S
        if wants_sync:
            wants_sync = self._may_sync()
        if bodies or is_sealed:
            try:
                data = b"".join(bodies)  # type: ignore[arg-type]  # asking each for its type would cost all of them
            except TypeError:
                data = self._write_large(bodies)
            _write(self._bodies, data + END if is_sealed else data, self.bodies_end)
            self.bodies_end += len(data)
            self._has_unsynced_bodies = True
            if len(data) < len(END) and not is_sealed:
                # It may have taken the place of an end of the archive, and is too short to cover all of it.
                os.ftruncate(self._bodies, self.bodies_end)
        if wants_sync and self._has_unsynced_bodies:
            os.fdatasync(self._bodies)
            self._has_unsynced_bodies = False
        data = b"".join(lines)
        _write(self._ledger, data, self.ledger_end)
        self.ledger_end += len(data)
        if wants_sync:
            os.fdatasync(self._ledger)

    def _write_large(self, bodies: Sequence[bytes | LargeMember]) -> bytes:
        """Writes members of which some are large, and not to be joined; what is left to be written comes back."""
        small: list[bytes] = []
        for body in bodies:
            if isinstance(body, bytes):
                small.append(body)
                continue
            before, content, after = body
            for data in (b"".join((*small, before)), content):
                _write(self._bodies, data, self.bodies_end)
                self.bodies_end += len(data)
            small = [after]
        return b"".join(small)

    def _may_sync(self) -> bool:
        """Whether to sync: with durability `none` the operating system decides."""
        self._synced_at = time.monotonic()
        return self.durability is not Durability.NONE

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
        """Puts the end of the archive where a writer that was killed may have taken it away."""
        _write(self._bodies, END, self.bodies_end)
        os.fdatasync(self._bodies)

    def overwrite_body(self, offset: int, head: bytes, size: int) -> None:
        """A new header, and zeros for the content: the header last, so that a half-done redaction is seen as such."""
        zeros = bytes(min(size, 1 << 20))
        done = 0
        while done < size:
            done += os.pwrite(self._bodies, zeros[: size - done], offset + len(head) + done)
        os.fdatasync(self._bodies)
        _write(self._bodies, head, offset)
        os.fdatasync(self._bodies)

    def discard(self, beside: Iterable[str] = ()) -> None:
        """Takes both files away, and those `beside` them, and only then gives the locks back: the next who gets them
        must not lose its files."""
        try:
            # The bodies last: whoever begins a ledger takes their lock first.
            for name in (LEDGER, *beside, BODIES):
                (self.directory / name).unlink(missing_ok=True)
        finally:
            self.close()

    def close(self) -> None:
        """The locks go with the descriptors. Closing again does nothing: a number may be another file's by then."""
        descriptors = [number for number in (self._bodies, self._ledger) if number != _CLOSED]
        self._bodies = self._ledger = _CLOSED
        for descriptor in descriptors:
            os.close(descriptor)


def is_being_written(directory: Path) -> bool:
    """Whether a writer holds the lock. The check holds a shared lock for a moment, which keeps writers out."""
    descriptor = os.open(directory / LEDGER, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _make_directory(directory: Path) -> list[Path]:
    """Makes it, and those above it that are not there; the directories come back that hold a name that is new."""
    missing = [path for path in directory.parents if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    return [directory, directory.parent, *(path.parent for path in missing)]


def _refuse_if_filled(descriptor: int, path: Path) -> None:
    if os.fstat(descriptor).st_size:
        _refuse(path)


def _refuse_if_begun(path: Path) -> None:
    """Nothing is made beside a ledger, whether it is being written, which its lock tells, or not."""
    try:
        if not path.stat().st_size:
            return
        os.close(_open_locked(path, _OLD))
    except FileNotFoundError:
        return
    _refuse(path)


def _refuse_unless_empty(outputs: Path) -> None:
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
    """Not so if a creation that failed took the file away since it was opened: what is written to it would be lost."""
    found = os.fstat(descriptor)
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (found.st_dev, found.st_ino)


def _write(descriptor: int, data: bytes, offset: int) -> None:
    """Writes all bytes, with further calls after a short write."""
    written = os.pwrite(descriptor, data, offset)
    while written < len(data):
        written += os.pwrite(descriptor, memoryview(data)[written:], offset + written)
