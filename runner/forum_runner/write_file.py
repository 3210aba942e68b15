"""Writes files atomically."""

import os
import re
import tempfile
from collections.abc import Container, Iterable
from pathlib import Path

from forum_runner.errors import UsageError

# The name of a temporary file: `.`, the name of the target, and the eight random characters of `mkstemp`.
_LEFTOVER = re.compile(r"[.](.+)[.][a-z0-9_]{8}", re.DOTALL)


def write_output(path: Path, data: bytes, protected: Iterable[Path] = ()) -> None:
    """Writes a file that a user named. If the path is a link, its target is written.

    Refuses to overwrite the files in `protected`.
    """
    target = Path(os.path.realpath(path))
    if any(target == file.resolve() for file in protected):
        raise UsageError(f"not overwriting '{path}': it is one of the input files")
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            # A pipe or a device such as /dev/stdout cannot be replaced, only written to.
            target.write_bytes(data)
        else:
            replace_file(target, data)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def write_file(path: Path, data: bytes) -> None:
    """Writes a file as `replace_file` does, and raises a UsageError if that fails."""
    try:
        replace_file(path, data)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def replace_file(path: Path, data: bytes) -> None:
    """Writes a temporary file, syncs it and renames it. After a crash, the path has either the old or the new content.

    Anything at the path except a directory is replaced, and never written to: a link may lead to a file elsewhere, and
    a pipe could block. Raises an OSError with this path.
    """
    try:
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
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def remove_leftovers(directory: Path, names: Container[str]) -> None:
    """Removes the temporary files that killed writes of these files left behind."""
    for path in directory.iterdir():
        if is_leftover(path, names):
            path.unlink(missing_ok=True)


def is_leftover(path: Path, names: Container[str]) -> bool:
    """Whether the path is a temporary file of one of these files."""
    match = _LEFTOVER.fullmatch(path.name)
    return match is not None and match[1] in names


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
