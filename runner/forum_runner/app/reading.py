"""Reads ledgers for `log`, `trace`, `show` and `diff`, whether they are valid or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import BinaryIO

from forum_runner.errors import UsageError, file_errors
from forum_runner.history.difference import EntryReader, RunDifference, compare
from forum_runner.history.read_history import read_history
from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.lines import Lines, length_of
from forum_runner.ledger.read_entry import SEAL, ReadEntry, is_import, read_entry
from forum_runner.ledger.recognition import check_is_ledger, check_is_ledger_stream, ledger_lines
from forum_runner.ledger.selection import Selection, check_kinds, check_tasks, task_of
from forum_runner.ledger.source import LedgerSource
from forum_runner.ledger.trace import TracedEntry, trace_entry
from forum_runner.report.failures import TaskFailure, read_failures
from forum_runner.report.recorded_text import RecordedText, read_reasons

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class LogItem:
    """A line and its number; `entry` is None if the line is damaged."""

    number: int
    line: bytes
    entry: ReadEntry | None


@dataclass(slots=True)
class Log:
    """Reads the entries of a ledger that match a selection, and counts damaged lines on the way.

    `is_read`: all entries have been read. `tasks` are the tasks that the entries read so far refer to.
    """

    source: LedgerSource
    selection: Selection
    unreadable: int = 0
    first_unreadable: int | None = None
    torn_bytes: int = 0
    is_sealed: bool = False
    is_import: bool = False
    is_read: bool = False
    tasks: set[str] = field(default_factory=set)

    def items(self) -> Iterator[LogItem]:
        with file_errors(), self.source.lines() as lines:
            for number, line in enumerate(ledger_lines(lines, self.source)):
                if (item := self._select(number, line)) is not None:
                    yield item
            self.torn_bytes = length_of(lines.torn)
        self.is_read = True

    async def follow(self, has_reader: Callable[[], bool]) -> AsyncIterator[LogItem]:
        """Yields items as they are written, until the ledger is sealed or `has_reader` returns False."""
        with file_errors():
            check_is_ledger(self.source)
            lines = self.source.follow(lambda: has_reader() and not self.is_sealed)
            is_file = self.source.path is not None and self.source.path.is_file()
            numbers = count()
            for line in lines if is_file else ledger_lines(filter(None, lines), self.source):
                if line is None:
                    await asyncio.sleep(_POLL_S)
                elif (item := self._select(next(numbers), line)) is not None:
                    yield item
        self.is_read = self.is_sealed

    def check_tasks(self) -> None:
        """Raises if all entries have been read and none of them refers to a selected task."""
        if self.is_read:
            check_tasks(self.selection.tasks, self.tasks, self.source.name)

    def _select(self, number: int, line: bytes) -> LogItem | None:
        entry = read_entry(line)
        if entry is None:
            self.unreadable += 1
            self.first_unreadable = number if self.first_unreadable is None else self.first_unreadable
            return LogItem(number, line, None) if self.selection.matches_all else None
        self.is_sealed = entry.kind == SEAL
        self.is_import = self.is_import or (number == 0 and is_import(entry))
        if self.selection.tasks and (task := task_of(entry)) is not None:
            self.tasks.add(task)
        return LogItem(number, line, entry) if self.selection.matches(entry) else None


def open_log(source: LedgerSource, selection: Selection) -> Log:
    if selection.kinds:
        from forum_runner.ledger.entries import KINDS

        check_kinds(selection.kinds, KINDS)
    return Log(source, selection)


def trace(source: LedgerSource, seq: int) -> Iterator[TracedEntry]:
    with file_errors(), source.open_seekable() as stream:
        check_is_ledger_stream(stream, source)
        yield from trace_entry(stream, seq, source.name)


@dataclass(frozen=True, slots=True)
class RunDescription:
    """The history of a run. `failures` and `reasons` (of gate decisions) are keyed by task.

    Without the run directory, there are no failures, and no reason can be read.
    """

    history: RunHistory
    failures: Mapping[str, TaskFailure]
    reasons: Mapping[str, RecordedText]


def describe(source: LedgerSource) -> RunDescription:
    """Reads the history of a run and, from its bodies, the reasons of failures and decisions."""
    history, directory = read_history(source), source.directory
    failures = {} if directory is None else read_failures(directory, history)
    return RunDescription(history, failures, read_reasons(directory, history))


def compare_runs(left: LedgerSource, right: LedgerSource) -> RunDifference:
    if left.path is None and right.path is None:
        raise UsageError("only one of the two runs can come from standard input")
    with left.open_seekable() as left_stream, right.open_seekable() as right_stream:
        check_is_ledger_stream(left_stream, left)
        check_is_ledger_stream(right_stream, right)
        return compare(_entries_of(left_stream), _entries_of(right_stream))


def _entries_of(stream: BinaryIO) -> EntryReader:
    def entries() -> Iterator[ReadEntry | None]:
        stream.seek(0)
        return map(read_entry, Lines(stream))

    return entries
