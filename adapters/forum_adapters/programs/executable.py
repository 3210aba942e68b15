"""Finds a program as the child itself would, and says which bytes it is."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

from forum_adapters.base import Executable


class CannotStart(Exception):
    """What was asked for cannot be started on this machine, however often it is tried."""

    def __init__(self, program: str, why: str) -> None:
        self.program = program
        super().__init__(f"cannot start '{program}': {why}")


def find_program(name: str, search_path: str | None, cwd: Path) -> Path:
    """Where `name` is, links not followed: many programs ask by which name they were called.

    `search_path` is the PATH of the child; None: it has none.
    """
    if "/" in name:
        places = [str(cwd / name)]
    else:
        # A part that is empty or relative counts from the directory where the child starts.
        folders = (os.defpath if search_path is None else search_path).split(os.pathsep)
        places = [f"{folder}/{name}" if folder.startswith("/") else f"{cwd}/{folder}/{name}" for folder in folders]
    for place in places:
        # The cheap question first: most folders of a PATH do not have it.
        if os.access(place, os.X_OK) and Path(place).is_file():
            return Path(place)
    if any(os.access(place, os.F_OK) for place in places):
        raise CannotStart(name, "it is not executable")
    raise CannotStart(name, "no such file" if "/" in name else "no such program on its PATH")


class Fingerprints:
    """The digests of programs. A file is read again only if it has changed: an interpreter has tens of megabytes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, int, int], str] = {}
        self._lock = threading.Lock()

    def known(self, real: Path) -> Executable | None:
        digest = self._known.get(_identity(real))
        return None if digest is None else Executable(str(real), digest)

    def take(self, real: Path) -> Executable:
        """Reads the file. May be called from any thread; of many that ask at once, one reads."""
        with self._lock:
            identity = _identity(real)
            if identity not in self._known:
                with real.open("rb") as file:
                    self._known[identity] = hashlib.file_digest(file, "sha256").hexdigest()
            return Executable(str(real), self._known[identity])


def _identity(path: Path) -> tuple[str, int, int, int, int]:
    # The time of change cannot be set back, unlike the time of modification.
    status = path.stat()
    return str(path), status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
