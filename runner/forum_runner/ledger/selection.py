"""Which entries of a ledger a reader wants to see."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from forum_runner.errors import UsageError
from forum_runner.ledger.read_entry import ReadEntry, text
from forum_runner.manifest.suggest import hint_for
from forum_runner.wave_plan.unit_id import is_unit_of

_SPAN = re.compile(r"(?P<first>[0-9]{0,16})(?P<dots>\.\.)?(?P<last>[0-9]{0,16})")


@dataclass(frozen=True, slots=True)
class SeqSpan:
    """Both ends belong to it; an end that is None is open."""

    first: int = 0
    last: int | None = None

    @classmethod
    def read(cls, written: str) -> SeqSpan:
        """`N`, `A..B`, `A..` or `..B`."""
        match = _SPAN.fullmatch(written)
        if match is None or not (match["first"] or match["last"]) or (match["last"] and not match["dots"]):
            raise UsageError(f"'{written}' is neither the seq of an entry nor a span of them such as 3..9")
        first = int(match["first"] or 0)
        if not match["dots"]:
            return cls(first, first)
        last = int(match["last"]) if match["last"] else None
        if last is not None and last < first:
            raise UsageError(f"the span {written} ends before it begins")
        return cls(first, last)

    def __contains__(self, seq: int) -> bool:
        return self.first <= seq and (self.last is None or seq <= self.last)


@dataclass(frozen=True, slots=True)
class Selection:
    """Takes what fits one of `kinds` and `actors` (globs), one of `tasks`, and the span; none given takes all."""

    kinds: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()
    span: SeqSpan | None = None

    @property
    def takes_all(self) -> bool:
        return not (self.kinds or self.tasks or self.actors or self.span)

    def takes(self, entry: ReadEntry) -> bool:
        return (
            (self.span is None or entry.seq in self.span)
            and (not self.kinds or any(fnmatchcase(entry.kind, kind) for kind in self.kinds))
            and (not self.tasks or any(_is_about(entry, task) for task in self.tasks))
            and (
                not self.actors or any(actor == entry.actor or fnmatchcase(entry.actor, actor) for actor in self.actors)
            )
        )


def check_kinds(globs: tuple[str, ...], known: Collection[str]) -> None:
    """A misspelt kind would select nothing, and look like a run in which nothing happened."""
    for glob in globs:
        if not glob.startswith(("x-", "*", "?", "[")) and not any(fnmatchcase(kind, glob) for kind in known):
            raise UsageError(f"there is no kind of entry '{glob}'; there are {', '.join(sorted(known))}, and x-...")


def check_tasks(tasks: tuple[str, ...], named: set[str], name: str) -> None:
    """A misspelt task would select nothing, too. `named` are the tasks that the entries of the ledger `name` name."""
    for task in tasks:
        if not any(is_unit_of(found, task) for found in named):
            hint = hint_for(task, named, "tasks") if named else "none names any task"
            raise UsageError(f"no entry of '{name}' names a task '{task}'" + (f"; {hint}" if hint else ""))


def task_of(entry: ReadEntry) -> str | None:
    """The task that an entry is about; what is said of its budget belongs to its story."""
    if entry.task is None and entry.data.get("scope") == "task":
        return text(entry.data, "name")
    return entry.task


def _is_about(entry: ReadEntry, task: str) -> bool:
    named = task_of(entry)
    return named is not None and is_unit_of(named, task)
