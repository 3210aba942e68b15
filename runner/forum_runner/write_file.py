"""Writes a file whole or not at all."""

import os
import tempfile
from pathlib import Path

from forum_runner.errors import UsageError


def write_file(path: Path, data: bytes) -> None:
    """Under another name first, on disk before it gets its own: a full disk or a crash leaves an old file alone."""
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder, not a file")
    if path.exists() and not path.is_file():
        # A pipe or a device such as /dev/stdout cannot be replaced; what is asked for is to write into it.
        path.write_bytes(data)
        return
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder '{path.parent}' to write '{path.name}' into")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
