"""Writes files atomically."""

import errno
import os
import re
import tempfile
from collections.abc import Container, Iterable
from pathlib import Path

from forum_runner.errors import UsageError

# The name of a temporary file: `.`, the name of the target, and the eight random characters of `mkstemp`.
_LEFTOVER = re.compile(r"[.](.+)[.][a-z0-9_]{8}", re.DOTALL)


def write_file(path: Path, data: bytes, protected: Iterable[Path] = ()) -> None:
    """Writes a temporary file, syncs it and renames it. After a crash, the path has either the old or the new content.

    If the path is a link, its target is written. Refuses to overwrite the files in `protected`.
    """
    target = path.resolve()
    if any(target == file.resolve() for file in protected):
        raise UsageError(f"not overwriting '{path}': it is one of the input files")
    try:
        _write(target, data)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def remove_leftovers(directory: Path, names: Container[str]) -> None:
    """Removes the temporary files that killed writes of these files left behind."""
    for path in directory.iterdir():
        if is_leftover(path, names):
            path.unlink(missing_ok=True)


def is_leftover(path: Path, names: Container[str]) -> bool:
    """Whether the path is a temporary file of one of these files."""
    match = _LEFTOVER.fullmatch(path.name)
    return match is not None and match[1] in names


def _write(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():
        # A pipe or a device such as /dev/stdout cannot be replaced, only written to.
        path.write_bytes(data)
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as stream:
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
    """Makes the creation and renaming of files in a directory durable."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
