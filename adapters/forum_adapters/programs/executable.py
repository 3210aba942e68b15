"""Finds a program as its own process would, and hashes it."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path

from forum_adapters.base import Executable

# As many as the kernel reads.
_FIRST_BYTES = 256
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})


class CannotStart(Exception):
    """The program cannot be started on this machine; retrying does not help."""

    def __init__(self, program: str, why: str) -> None:
        self.program = program
        super().__init__(f"cannot start '{program}': {why}")


def find_program(name: str, search_path: str | None, cwd: Path) -> Path:
    """The path of a program. Links are not followed: many programs depend on the name that they are called by.

    `search_path` is the PATH of the child, or None if it has none.
    """
    if "/" in name:
        places = [str(cwd / name)]
    else:
        # Empty and relative parts are relative to the child's working directory.
        folders = (os.defpath if search_path is None else search_path).split(os.pathsep)
        places = [f"{folder}/{name}" if folder.startswith("/") else f"{cwd}/{folder}/{name}" for folder in folders]
    for place in places:
        # The cheap check first: most folders of a PATH do not contain the program.
        if os.access(place, os.X_OK) and Path(place).is_file():
            return Path(place)
    found = [place for place in places if os.access(place, os.F_OK)]
    if found:
        are_directories = all(Path(place).is_dir() for place in found)
        raise CannotStart(name, "it is a directory" if are_directories else "it is not executable")
    raise CannotStart(name, "no such file" if "/" in name else "no such program on its PATH")


def why_refused(number: int, program: Path, cwd: Path) -> str:
    """Why the system did not start a file that exists. Its own message for a missing interpreter suggests that the
    file itself is missing."""
    named = _interpreter(program)
    if named is None:
        has_no_loader = number == errno.ENOENT and program.exists()
        return "its loader does not exist" if has_no_loader else os.strerror(number)
    if number not in {*_MISSING, errno.EACCES, errno.ELOOP}:
        return os.strerror(number)
    interpreter = cwd / named
    said = f"its first line names '{named.rstrip()}'"
    exists = os.access(interpreter, os.F_OK)
    if exists and interpreter.is_dir():
        return f"{said}, which is a directory"
    if exists or number not in _MISSING:
        return f"{said}, which cannot be started: {os.strerror(number)}"
    if named.endswith("\r"):
        return f"{said} and a carriage return, and no such file exists: lines must end with LF only"
    return f"{said}, which does not exist"


def _interpreter(program: Path) -> str | None:
    """The interpreter in a script's first line, as the kernel reads it."""
    try:
        with program.open("rb") as file:
            first = file.read(_FIRST_BYTES).partition(b"\n")[0]
    except OSError:
        return None
    words = first[2:].replace(b"\t", b" ").split(b" ")
    return next((os.fsdecode(word) for word in words if word), None) if first.startswith(b"#!") else None


class ProgramDigests:
    """The digests of programs. Reads a file again only if it changed: an interpreter can have tens of megabytes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, int, int], str] = {}
        self._lock = threading.Lock()

    def known(self, real: Path) -> Executable | None:
        digest = self._known.get(_identity(real))
        return None if digest is None else Executable(str(real), digest)

    def take(self, real: Path) -> Executable:
        """Reads the file. Thread-safe: concurrent callers read it once."""
        with self._lock:
            identity = _identity(real)
            if identity not in self._known:
                with real.open("rb") as file:
                    self._known[identity] = hashlib.file_digest(file, "sha256").hexdigest()
            return Executable(str(real), self._known[identity])


def _identity(path: Path) -> tuple[str, int, int, int, int]:
    # Unlike the modification time, the change time cannot be set back.
    status = path.stat()
    return str(path), status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
