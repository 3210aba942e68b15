"""The application's functions for ledgers that are there: what `log`, `trace`, `show` and `diff` do.

They tell what a ledger says. Whether it holds is for `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import BinaryIO

from forum_runner.errors import UsageError
from forum_runner.history.difference import Entries, RunDifference, compare
from forum_runner.history.read_history import read_history
from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.lines import Lines, length_of
from forum_runner.ledger.read_entry import SEAL, ReadEntry, is_import, read_entry
from forum_runner.ledger.recognition import check_is_ledger, check_stream, ledger_lines
from forum_runner.ledger.selection import Selection, check_kinds, check_tasks, task_of
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.trace import Trace
from forum_runner.report.decision_reason import DecisionReason, read_reasons
from forum_runner.report.run_result import read_result


@dataclass(frozen=True, slots=True)
class LogItem:
    """A line under its number; `entry` is None where it is no entry."""

    number: int
    line: bytes
    entry: ReadEntry | None


@dataclass(slots=True)
class Log:
    """The entries of a ledger that a selection takes. After the last one, the counts tell what was no entry.

    `is_read` says that no further entry can come, and `named` are the tasks that the entries name.
    """

    source: LedgerSource
    selection: Selection
    unreadable: int = 0
    first_unreadable: int | None = None
    torn_bytes: int = 0
    is_sealed: bool = False
    is_import: bool = False
    is_read: bool = False
    named: set[str] = field(default_factory=set)

    def items(self) -> Iterator[LogItem]:
        with self.source.lines() as lines:
            yield from self._selected(ledger_lines(lines, self.source, lambda: lines.torn))
            self.torn_bytes = length_of(lines.torn)
        self.is_read = True

    def items_as_they_come(self, has_reader: Callable[[], bool]) -> Iterator[LogItem]:
        """Ends with a seal that nothing follows, and when there is nobody to read."""
        check_is_ledger(self.source)
        lines = self.source.follow(lambda: has_reader() and not self.is_sealed)
        is_file = self.source.path is not None and self.source.path.is_file()
        yield from self._selected(lines if is_file else ledger_lines(lines, self.source))
        self.is_read = self.is_sealed

    def check_tasks(self) -> None:
        """A task that was asked for and that no entry names is an error, if all were looked at."""
        if self.is_read:
            check_tasks(self.selection.tasks, self.named, self.source.name)

    def _selected(self, lines: Iterator[bytes]) -> Iterator[LogItem]:
        for number, line in enumerate(lines):
            entry = read_entry(line)
            if entry is None:
                self.unreadable += 1
                self.first_unreadable = number if self.first_unreadable is None else self.first_unreadable
                if self.selection.takes_all:
                    yield LogItem(number, line, None)
                continue
            self.is_sealed = entry.kind == SEAL
            self.is_import = self.is_import or (number == 0 and is_import(entry))
            if self.selection.tasks and (task := task_of(entry)) is not None:
                self.named.add(task)
            if self.selection.takes(entry):
                yield LogItem(number, line, entry)


def open_log(source: LedgerSource, selection: Selection) -> Log:
    if selection.kinds:
        from forum_runner.ledger.entry_schema import kinds

        check_kinds(selection.kinds, kinds())
    return Log(source, selection)


def trace(source: LedgerSource, found: Trace) -> Iterator[tuple[bytes, ReadEntry]]:
    """The entry and all that it follows from, the latest first."""
    with source.open_seekable() as stream:
        check_stream(stream, source)
        is_there = False
        for line, entry in found.entries(stream):
            is_there = True
            yield line, entry
    if not is_there:
        last = "it has no entries" if found.last is None else f"its last is {found.last:,}"
        raise UsageError(f"there is no entry {found.seq:,} in '{source.name}'; {last}")


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What happened in a run. `failures` and `decisions` need the run directory, and are empty for a bare ledger."""

    history: RunHistory
    failures: list[str]
    decisions: dict[str, DecisionReason]


def describe(source: LedgerSource) -> RunDescription:
    """Reads the ledger, and from its bodies why tasks failed and why people decided as they did."""
    history = read_history(source)
    decisions = read_reasons(source.directory, history)
    if source.directory is None:
        return RunDescription(history, [], decisions)
    result = read_result(source.directory, history, 0)
    return RunDescription(history, [f"{task}: {failure}" for task, failure in result.failures.items()], decisions)


def compare_runs(left: LedgerSource, right: LedgerSource) -> RunDifference:
    sources = left, right
    if sources[0].path is None and sources[1].path is None:
        raise UsageError("only one of the two runs can come from standard input")
    with ExitStack() as stack:
        ours, theirs = (stack.enter_context(source.open_seekable()) for source in sources)
        for stream, source in zip((ours, theirs), sources, strict=True):
            check_stream(stream, source)
        return compare(_entries_of(ours), _entries_of(theirs))


def _entries_of(stream: BinaryIO) -> Entries:
    def entries() -> Iterator[ReadEntry | None]:
        stream.seek(0)
        return map(read_entry, Lines(stream))

    return entries
