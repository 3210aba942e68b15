"""Finds a program on the PATH of its future process, and computes its digest."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path

from forum_adapters.base import Executable

# The kernel reads this much of a script to find its interpreter.
_FIRST_LINE_BYTES = 256
_MISSING_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR})


class CannotStart(Exception):
    """The program cannot be started on this machine, and retrying does not help."""

    def __init__(self, program: str, reason: str) -> None:
        self.program = program
        super().__init__(f"cannot start '{program}': {reason}")


def find_program(name: str, search_path: str | None, cwd: Path) -> Path:
    """The path of a program. Raises CannotStart if there is no executable file.

    Links are not resolved, because many programs depend on the name by which they are called. `search_path` is the PATH
    of the program's process, or None if it has none.
    """
    if "/" in name:
        candidates = [str(cwd / name)]
    else:
        # Empty and relative parts are relative to the process's working directory.
        folders = (os.defpath if search_path is None else search_path).split(os.pathsep)
        candidates = [f"{folder}/{name}" if folder.startswith("/") else f"{cwd}/{folder}/{name}" for folder in folders]
    for candidate in candidates:
        # The cheap check first: most folders of a PATH do not contain the program.
        if os.access(candidate, os.X_OK) and Path(candidate).is_file():
            return Path(candidate)
    existing = [candidate for candidate in candidates if os.access(candidate, os.F_OK)]
    if existing:
        are_directories = all(Path(candidate).is_dir() for candidate in existing)
        raise CannotStart(name, "it is a directory" if are_directories else "it is not executable")
    raise CannotStart(name, "no such file" if "/" in name else "no such program on its PATH")


def explain_refusal(number: int, program: Path, cwd: Path) -> str:
    """The reason why the system did not start a file that exists.

    If an interpreter is missing, the message of the system suggests that the file itself is missing.
    """
    interpreter_name = _interpreter(program)
    if interpreter_name is None:
        has_no_loader = number == errno.ENOENT and program.exists()
        return "its loader does not exist" if has_no_loader else os.strerror(number)
    if number not in {*_MISSING_ERRNOS, errno.EACCES, errno.ELOOP}:
        return os.strerror(number)
    interpreter = cwd / interpreter_name
    prefix = f"its first line names '{interpreter_name.rstrip()}'"
    exists = os.access(interpreter, os.F_OK)
    if exists and interpreter.is_dir():
        return f"{prefix}, which is a directory"
    if exists or number not in _MISSING_ERRNOS:
        return f"{prefix}, which cannot be started: {os.strerror(number)}"
    if interpreter_name.endswith("\r"):
        return f"{prefix} and a carriage return, and no such file exists: lines must end with LF only"
    return f"{prefix}, which does not exist"


def _interpreter(program: Path) -> str | None:
    """The interpreter in a script's first line, as the kernel reads it; None if the file is not a readable script."""
    try:
        with program.open("rb") as file:
            first_line = file.read(_FIRST_LINE_BYTES).partition(b"\n")[0]
    except OSError:
        return None
    words = first_line[2:].replace(b"\t", b" ").split(b" ")
    return next((os.fsdecode(word) for word in words if word), None) if first_line.startswith(b"#!") else None


class ProgramDigests:
    """A cache of program digests. A file is read again only if it changed, because interpreters can be large."""

    def __init__(self) -> None:
        self._digests: dict[tuple[str, int, int, int, int], str] = {}
        self._lock = threading.Lock()

    def cached(self, real: Path) -> Executable | None:
        """The program with its digest; None if the file must be read first."""
        digest = self._digests.get(_identity(real))
        return None if digest is None else Executable(str(real), digest)

    def read(self, real: Path) -> Executable:
        """Computes the digest. It is thread-safe: concurrent callers read the file once."""
        with self._lock:
            identity = _identity(real)
            if identity not in self._digests:
                with real.open("rb") as file:
                    self._digests[identity] = hashlib.file_digest(file, "sha256").hexdigest()
            return Executable(str(real), self._digests[identity])


def _identity(path: Path) -> tuple[str, int, int, int, int]:
    # Unlike the modification time, the change time cannot be set back.
    status = path.stat()
    return str(path), status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
