"""Selects the entries to show: by kind, task, actor and seq."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from forum_runner.errors import UsageError
from forum_runner.ledger.read_entry import ReadEntry, get_str
from forum_runner.manifest.suggest import hint_for
from forum_runner.wave_plan.unit_id import is_unit_of

_SPAN = re.compile(r"(?P<first>[0-9]{0,16})(?P<dots>\.\.)?(?P<last>[0-9]{0,16})")


@dataclass(frozen=True, slots=True)
class SeqSpan:
    """A range of seqs, both ends included. A `last` of None means no limit."""

    first: int = 0
    last: int | None = None

    @classmethod
    def parse(cls, text: str) -> SeqSpan:
        """Parses `N`, `A..B`, `A..` or `..B`."""
        match = _SPAN.fullmatch(text)
        if match is None or not (match["first"] or match["last"]) or (match["last"] and not match["dots"]):
            raise UsageError(f"'{text}' is not a seq or a range of seqs such as 3..9")
        first = int(match["first"] or 0)
        if not match["dots"]:
            return cls(first, first)
        last = int(match["last"]) if match["last"] else None
        if last is not None and last < first:
            raise UsageError(f"the range '{text}' ends before it starts")
        return cls(first, last)

    def __contains__(self, seq: int) -> bool:
        return self.first <= seq and (self.last is None or seq <= self.last)


@dataclass(frozen=True, slots=True)
class Selection:
    """Matches an entry if its kind matches one of `kinds` and its actor one of `actors` (globs), if it is about one of
    `tasks`, and if its seq is in the span. An empty criterion matches every entry.
    """

    kinds: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()
    span: SeqSpan | None = None

    @property
    def matches_all(self) -> bool:
        return not (self.kinds or self.tasks or self.actors or self.span)

    def matches(self, entry: ReadEntry) -> bool:
        return (
            (self.span is None or entry.seq in self.span)
            and (not self.kinds or any(fnmatchcase(entry.kind, kind) for kind in self.kinds))
            and (not self.tasks or any(_is_about(entry, task) for task in self.tasks))
            and (
                not self.actors or any(actor == entry.actor or fnmatchcase(entry.actor, actor) for actor in self.actors)
            )
        )


def check_kinds(globs: tuple[str, ...], known: Collection[str]) -> None:
    """Raises if a glob matches no kind: a misspelled kind would select nothing.

    Globs that may match user kinds, which cannot be known, are not checked.
    """
    for glob in globs:
        if not glob.startswith(("x-", "*", "?", "[")) and not any(fnmatchcase(kind, glob) for kind in known):
            raise UsageError(f"unknown kind '{glob}'; choose from {', '.join(sorted(known))}, or x-...")


def check_tasks(tasks: tuple[str, ...], units: set[str], ledger: str) -> None:
    """Raises if a task has no entries: a misspelled task would select nothing. `units` are all units with entries."""
    for task in tasks:
        if not any(is_unit_of(unit, task) for unit in units):
            hint = hint_for(task, units, "tasks") if units else "it has no tasks"
            raise UsageError(f"'{ledger}' has no entries about task '{task}'" + (f"; {hint}" if hint else ""))


def task_of(entry: ReadEntry) -> str | None:
    """The task that an entry is about; None if there is none. An entry about a task's budget has the task in `name`."""
    if entry.task is None and entry.data.get("scope") == "task":
        return get_str(entry.data, "name")
    return entry.task


def _is_about(entry: ReadEntry, task: str) -> bool:
    unit = task_of(entry)
    return unit is not None and is_unit_of(unit, task)
