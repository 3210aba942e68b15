"""The files that a request names."""

from __future__ import annotations

from pathlib import Path

from forum_runner.errors import UsageError


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
