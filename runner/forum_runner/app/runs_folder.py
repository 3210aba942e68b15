"""Checks and prepares the directories of runs."""

from __future__ import annotations

import stat
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

from forum_runner.app.invocation import INVOCATION, read_invocation
from forum_runner.errors import UsageError
from forum_runner.ledger.layout import BODIES, LEDGER
from forum_runner.workspace import GITIGNORE, RUNS
from forum_runner.write_file import is_leftover, sync_directory


def keep_out_of_git(runs: Path) -> None:
    """Creates a missing .forum folder with a .gitignore: prompts and outputs rarely belong in a repository."""
    folder = runs.parent
    if folder.name == RUNS.parent.name and not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text(GITIGNORE)


def new_directory(runs: Path, run: str) -> Path:
    """Creates a directory. Deterministic runs of a plan share one id, so a number may follow it."""
    names = chain([run], (f"{run}.{number}" for number in count(2)))
    try:
        keep_out_of_git(runs)
        if not runs.exists():
            runs.mkdir(parents=True, exist_ok=True)
            sync_directory(runs.parent)
        for name in names:
            # Other threads and processes may start the same run, so only creating the directory claims its name.
            with suppress(FileExistsError):
                (runs / name).mkdir()
                return runs / name
    except OSError as error:
        raise UsageError(f"cannot create a ledger in '{runs}': {error.strerror}") from error
    raise AssertionError


def check_is_free(directory: Path, *, has_invocation: bool) -> None:
    """Refuses a directory that is not empty: its files would be overwritten, or become part of the run.

    Accepts the files of a start that was killed: an empty ledger, an empty archive and, if the run `has_invocation`,
    that file.
    """
    try:
        # The ledger comes first, because it explains best why the directory is refused.
        found = sorted(directory.iterdir(), key=lambda path: (path.name != LEDGER, path.name))
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot create a ledger in '{directory}': {error.strerror}") from error
    for path in found:
        if not _is_left_behind(path, has_invocation=has_invocation):
            raise UsageError(f"'{path}' already exists; choose an empty directory")


def _is_left_behind(path: Path, *, has_invocation: bool) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        # Another process started here, failed, and removed the file.
        return True
    if not stat.S_ISREG(status.st_mode):
        return False
    if path.name in (LEDGER, BODIES):
        return status.st_size == 0
    return has_invocation and (is_leftover(path, (INVOCATION,)) or _is_invocation(path))


def _is_invocation(path: Path) -> bool:
    """Whether the file is an invocation: an unrelated file may have the same name."""
    with suppress(UsageError):
        return path.name == INVOCATION and read_invocation(path.parent) is not None
    return False
