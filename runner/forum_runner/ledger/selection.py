"""Which entries of a ledger a reader wants to see."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from forum_runner.errors import UsageError
from forum_runner.ledger.read_entry import ReadEntry, text

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


def check_kinds(globs: tuple[str, ...], known: frozenset[str]) -> None:
    """A misspelt kind would select nothing, and look like a run in which nothing happened."""
    for glob in globs:
        if not glob.startswith(("x-", "*", "?", "[")) and not any(fnmatchcase(kind, glob) for kind in known):
            raise UsageError(f"there is no kind of entry '{glob}'; there are {', '.join(sorted(known))}, and x-...")


def _is_about(entry: ReadEntry, task: str) -> bool:
    """A task's instances, and what is said of its budget, belong to its story."""
    named = entry.task
    if named is None and entry.data.get("scope") == "task":
        named = text(entry.data, "name")
    return named is not None and (named == task or (named.startswith(f"{task}[") and named.endswith("]")))
