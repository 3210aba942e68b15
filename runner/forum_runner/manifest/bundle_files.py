"""Reads a bundle's files from a folder, or from the manifests that ship with forum, and resolves their paths."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from pathlib import Path
from typing import Protocol

from forum_runner import resources

MAX_FILE_BYTES = 16 * 1024 * 1024
BUILT_IN = "forum:"

_NAMED_REFERENCE = re.compile(r"(.*)#([A-Za-z][A-Za-z0-9_-]*)", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_DRIVE = re.compile(r"[A-Za-z]:")


class FileProblem(Exception):
    """A file cannot be read. The attributes are the parts of the finding."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        self.code = code
        self.message = message
        self.hint = hint
        super().__init__(message)


class Files(Protocol):
    def read(self, name: str) -> bytes:
        """Reads a file by its path from the bundle's root. Raises FileProblem."""


class DiskFiles:
    """The files below one folder. Symbolic links to files outside it are refused."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def read(self, name: str) -> bytes:
        try:
            return self._read(name)
        except (OSError, ValueError) as error:
            raise _to_problem(name, error) from error

    def _read(self, name: str) -> bytes:
        # Not Path.resolve: some versions raise RuntimeError if links form a loop.
        path = Path(os.path.realpath(self._root / name))
        if not path.is_relative_to(self._root):
            raise FileProblem(
                "F121", f"'{name}' is a link to a file outside the bundle", "copy the file into the bundle"
            )
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise FileProblem("F102", f"'{name}' is a folder, not a file")
        if not stat.S_ISREG(status.st_mode):
            raise FileProblem("F103", f"'{name}' is not a regular file")
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise FileProblem("F104", f"'{name}' is larger than {MAX_FILE_BYTES // 2**20} MiB")
        return data


def resolve_path(referring_file: str, reference: str) -> str:
    """The path from the bundle's root for a reference in `referring_file`. Raises FileProblem."""
    if _SCHEME.match(reference):
        raise FileProblem(
            "F122",
            f"'{reference}' is not a path in the bundle",
            "forum does not download files; copy the file into the bundle",
        )
    if reference.startswith("/") or "\\" in reference or _DRIVE.match(reference):
        raise FileProblem(
            "F122", f"'{reference}' must be a relative path with '/' as the separator", "make it relative to this file"
        )
    prefix = BUILT_IN if referring_file.startswith(BUILT_IN) else ""
    folder = posixpath.dirname(referring_file.removeprefix(prefix))
    name = posixpath.normpath(posixpath.join(folder, reference))
    if name == ".." or name.startswith("../"):
        raise FileProblem(
            "F120",
            f"'{reference}' leaves the bundle",
            "copy the file into the bundle, or pass a parent folder as --root",
        )
    if is_reserved(name):
        raise FileProblem("F122", f"'{reference}' starts with '{BUILT_IN}', which is reserved", "rename the file")
    return prefix + name


def split_reference(reference: str) -> tuple[str, str | None]:
    """Splits `path#name`. Without a name, the second value is None, and a `#` is part of the path."""
    match = _NAMED_REFERENCE.fullmatch(reference)
    return (match[1], match[2]) if match else (reference, None)


def read_built_in(name: str) -> bytes:
    """Reads a manifest that ships with forum."""
    return resources.manifest(name.removeprefix(BUILT_IN)).read_bytes()


def is_reserved(name: str) -> bool:
    return name.startswith(BUILT_IN)


def _to_problem(name: str, error: OSError | ValueError) -> FileProblem:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return FileProblem("F101", f"file '{name}' not found")
    reason = error.strerror if isinstance(error, OSError) else "the path is not valid"
    return FileProblem("F103", f"'{name}' cannot be read: {reason}")
