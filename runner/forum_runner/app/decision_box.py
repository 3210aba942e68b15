"""Decisions about the gates of a run that a process is at work with.

A ledger has one writer. Whoever decides meanwhile leaves a file in the run directory; the writer takes it away, and
records what it says.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import orjson

from forum_runner.errors import UsageError
from forum_runner.execute.events import Decided
from forum_runner.execute.restore import read_entries
from forum_runner.ledger.files import is_being_written
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.write_file import write_file

_FOLDER = "decisions"
_SUFFIX = ".json"
_LOOK_S = 0.05
# A writer looks several times a second, but may have to wait for its disk.
_PATIENCE_S = 20.0


class DecisionBox:
    def __init__(self, directory: Path) -> None:
        self._folder = directory / _FOLDER

    def put(self, decided: Decided) -> Path:
        """Where it lies until it is taken."""
        texts = {name: text.decode() for name, text in decided.texts.items()}
        form = {"task": decided.task, "decision": decided.decision, "actor": decided.actor, "shown": decided.shown}
        with suppress(FileExistsError):
            self._folder.mkdir()
        path = self._folder / f"{time.time_ns()}-{os.getpid()}{_SUFFIX}"
        write_file(path, orjson.dumps({**form, "texts": texts}))
        return path

    def take(self) -> list[Decided]:
        """What lies there, the oldest first. It is taken away before it is recorded: nothing is recorded twice."""
        found = []
        for path in self._paths():
            # Whoever may write there may write anything.
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                form = orjson.loads(path.read_bytes())
                texts = {name: text.encode() for name, text in form.pop("texts").items()}
                found.append(Decided(**form, texts=texts))
            self._remove(path)
        return found

    def withdraw(self, path: Path) -> None:
        self._remove(path)

    def clear(self) -> None:
        """Takes away what nobody waits for any more: whoever left it was told that it was not taken, or was killed."""
        for path in self._paths():
            self._remove(path)

    def _paths(self) -> list[Path]:
        try:
            return sorted(path for path in self._folder.iterdir() if path.suffix == _SUFFIX and path.name[0] != ".")
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        # Not so if another decision lies there.
        with suppress(OSError):
            self._folder.rmdir()


def hand_over(directory: Path, decided: Decided, opened: int) -> bool:
    """Whether the process that is at work with the run recorded the decision about the gate that entry `opened` opened.

    False: the process has ended, and has recorded none. A UsageError if another decision stands there, or none.
    """
    box = DecisionBox(directory)
    path = box.put(decided)
    ends_s = time.monotonic() + _PATIENCE_S
    try:
        while time.monotonic() < ends_s:
            is_over = not is_being_written(directory)
            found = None if path.exists() and not is_over else _decision_about(directory, decided.task, opened)
            if found is not None:
                _check_is_this(decided, found)
                return True
            if is_over:
                return False
            time.sleep(_LOOK_S)
    finally:
        box.withdraw(path)
    raise UsageError("the process that is at work with the run did not take the decision; decide when it has paused")


def _decision_about(directory: Path, task: str, opened: int) -> ReadEntry | None:
    for entry in read_entries(directory):
        if entry.kind == "gate.decided" and entry.seq > opened and entry.task == task:
            return entry
    return None


def _check_is_this(decided: Decided, found: ReadEntry) -> None:
    if (found.actor, found.data["by"], found.data["decision"]) != (decided.actor, "person", decided.decision):
        who = "its deadline" if found.data["by"] == "deadline" else found.actor
        raise UsageError(f"'{decided.task}' was decided meanwhile by {who}: {found.data['decision']}")
