"""The folders that a program works in: where relative paths start, where runs are stored, where results are cached."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from forum_runner.errors import UsageError

RUNS = Path(".forum/runs")
_CACHE = Path(".forum/cache")
# The content of `.forum/.gitignore`.
GITIGNORE = "runs/\ncache/\n"


@dataclass(frozen=True, slots=True, init=False)
class Workspace:
    """The root of relative paths, and the folders of runs and of cached results, by default in `.forum`.

    A relative `root` depends on the current directory of the process. Commands use a relative root, so that
    messages show paths as the user typed them; other programs use `Workspace.at`.
    """

    root: Path
    runs: Path
    cache: Path

    def __init__(self, root: Path, runs: Path | None = None, cache: Path | None = None) -> None:
        object.__setattr__(self, "root", _checked(root))
        object.__setattr__(self, "runs", _checked(root / (runs or RUNS)))
        object.__setattr__(self, "cache", _checked(root / (cache or _CACHE)))

    @classmethod
    def at(cls, root: Path | str) -> Workspace:
        """The workspace of a folder. It does not depend on the current directory of the process."""
        return cls(Path(root).absolute())

    @overload
    def path(self, path: Path | str) -> Path: ...

    @overload
    def path(self, path: Path | str | None) -> Path | None: ...

    def path(self, path: Path | str | None) -> Path | None:
        """Resolves a path against the root."""
        return None if path is None else _checked(self.root / path)

    def file(self, path: Path) -> Path:
        """Like `path`, except that `-` remains `-`: standard input or output."""
        return path if str(path) == "-" else self.path(path)


def _checked(path: Path) -> Path:
    """Refuses a path that no file can have."""
    try:
        is_possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise UsageError(f"invalid path {str(path)!r}: a path cannot contain a NUL character or a lone surrogate")
    return path
