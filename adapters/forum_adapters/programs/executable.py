"""Finds a program as the child itself would, and says which bytes it is."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path

from forum_adapters.base import Executable

# As much as the kernel looks at.
_FIRST_BYTES = 256
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})


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
    found = [place for place in places if os.access(place, os.F_OK)]
    if found:
        are_directories = all(Path(place).is_dir() for place in found)
        raise CannotStart(name, "it is a directory" if are_directories else "it is not executable")
    raise CannotStart(name, "no such file" if "/" in name else "no such program on its PATH")


def why_refused(number: int, program: Path, cwd: Path) -> str:
    """Why the system did not start a file that is there. Its own words for a missing interpreter read as if the file
    itself were missing."""
    named = _interpreter(program)
    if named is None:
        has_no_loader = number == errno.ENOENT and program.exists()
        return "the loader that it asks for is not there" if has_no_loader else os.strerror(number)
    if number not in {*_MISSING, errno.EACCES, errno.ELOOP}:
        return os.strerror(number)
    interpreter = cwd / named
    said = f"its first line names '{named.rstrip()}'"
    is_there = os.access(interpreter, os.F_OK)
    if is_there and interpreter.is_dir():
        return f"{said}, which is a directory"
    if is_there or number not in _MISSING:
        return f"{said}, which cannot be started: {os.strerror(number)}"
    if named.endswith("\r"):
        return f"{said} and a carriage return, and there is no such file: lines have to end with LF alone"
    return f"{said}, and there is no such file"


def _interpreter(program: Path) -> str | None:
    """What a script's first line says that it is run by, as the kernel reads it."""
    try:
        with program.open("rb") as file:
            first = file.read(_FIRST_BYTES).partition(b"\n")[0]
    except OSError:
        return None
    words = first[2:].replace(b"\t", b" ").split(b" ")
    return next((os.fsdecode(word) for word in words if word), None) if first.startswith(b"#!") else None


class ProgramDigests:
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
