"""What a later process needs to go on with a run, and its record does not hold: where the files are, and the script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from forum_runner.errors import UsageError
from forum_runner.ledger.layout import LEDGER
from forum_runner.write_file import sync_directory, write_file

INVOCATION = "invocation.json"


@dataclass(frozen=True, slots=True)
class Invocation:
    """`workflow` is a path from `root`. The script is kept as it was, and by its file, if it is not the workflow's own.

    `inputs`, `inputs_file` and `selected` are what the command was given, secrets left out. `answers_from` and `base`
    are the directories of earlier runs: one that answers, and one that results are from, of the tasks `among`, or of
    all.
    """

    root: Path
    workflow: str
    answers: Sequence[Mapping[str, Any]] | None = None
    script: Path | None = None
    answers_from: Path | None = None
    base: Path | None = None
    among: frozenset[str] | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    inputs_file: Path | None = None
    selected: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def encoded(self) -> bytes:
        paths = {"root": self.root, "script": self.script, "answers_from": self.answers_from, "base": self.base}
        paths["inputs_file"] = self.inputs_file
        written = {name: None if path is None else str(path) for name, path in paths.items()}
        among = None if self.among is None else sorted(self.among)
        form: dict[str, Any] = {**written, "among": among, "workflow": self.workflow, "answers": self.answers}
        form |= {"inputs": dict(self.inputs), "selected": {name: list(tasks) for name, tasks in self.selected.items()}}
        return json.dumps(form, indent=1, ensure_ascii=False).encode()


def read_invocation(directory: Path) -> Invocation:
    try:
        form = orjson.loads((directory / INVOCATION).read_bytes())
        root, script, answers_from, base = (_path(form[name]) for name in ("root", "script", "answers_from", "base"))
        among = None if form["among"] is None else frozenset(form["among"])
        return Invocation(
            Path(root or ""), str(form["workflow"]), form["answers"], script, answers_from, base, among,
            dict(form["inputs"]), _path(form["inputs_file"]), dict(form["selected"]),
        )  # fmt: skip
    except FileNotFoundError:
        raise UsageError(f"'{directory}' has no {INVOCATION}, so it is not known where its files are") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"cannot read '{directory / INVOCATION}': {error}") from error


def _path(written: str | None) -> Path | None:
    return None if written is None else Path(written)


class KeptInvocation:
    """The file of a run that is about to begin. It is there before the ledger is: whoever finds one finds the other.

    A ledger that stands in the directory already keeps its own, and a beginning that fails leaves nothing behind.
    """

    def __init__(self, directory: Path, invocation: Invocation) -> None:
        self._data = invocation.encoded()
        self._directory = directory
        self._path = directory / INVOCATION
        self._was_there = self._path.exists()

    def __enter__(self) -> Self:
        if not _is_begun(self._directory):
            _make_directory(self._directory)
            write_file(self._path, self._data)
        return self

    def confirm(self) -> None:
        """The ledger is begun. Another process that tried the same, and lost, may have left its own file."""
        if not self._path.exists() or self._path.read_bytes() != self._data:
            write_file(self._path, self._data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._was_there and not _is_begun(self._directory):
            self._path.unlink(missing_ok=True)


def _is_begun(directory: Path) -> bool:
    try:
        return (directory / LEDGER).stat().st_size > 0
    except OSError:
        return False


def _make_directory(directory: Path) -> None:
    """Its name, and those of the directories above it that were made for it, are on disk."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path in missing:
            sync_directory(path.parent)
    except OSError as error:
        raise UsageError(f"cannot begin a run in '{directory}': {error.strerror}") from error
