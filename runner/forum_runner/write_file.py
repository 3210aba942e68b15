"""Writes a file whole or not at all."""

import errno
import os
import re
import tempfile
from collections.abc import Container, Iterable
from pathlib import Path

from forum_runner.errors import UsageError

_LEFTOVER = re.compile(r"[.](.+)[.][a-z0-9_]{8}", re.DOTALL)


def write_file(path: Path, data: bytes, keep: Iterable[Path] = ()) -> None:
    """Under another name first, on disk before it gets its own: a full disk or a crash leaves an old file alone.

    A link is followed. The files of `keep` are not overwritten.
    """
    target = path.resolve()
    if any(target == kept.resolve() for kept in keep):
        raise UsageError(f"not overwriting '{path}': it is part of what was read")
    try:
        _write(target, data)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def remove_leftovers(directory: Path, names: Container[str]) -> None:
    """Takes away what writes of these files left behind when they were killed."""
    for path in directory.iterdir():
        if is_leftover(path, names):
            path.unlink(missing_ok=True)


def is_leftover(path: Path, names: Container[str]) -> bool:
    """Whether it has the other name under which one of these files is written first."""
    found = _LEFTOVER.fullmatch(path.name)
    return found is not None and found[1] in names


def _write(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():
        # A pipe or a device such as /dev/stdout cannot be replaced; what is asked for is to write into it.
        path.write_bytes(data)
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
        sync_directory(path.parent)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def sync_directory(directory: Path) -> None:
    """Makes names in a directory durable: new ones, and those that a rename gave."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
