"""Find the records at a path, and judge them.

A path is a run directory, a bare ledger, standard input, or a directory of run directories.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BufferedReader, RawIOBase
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from forum_conformance.foreign.foreign_report import ForeignRecord, describe_foreign, report_foreign
from forum_conformance.foreign.forum_engine import ENTRIES
from forum_conformance.foreign.recognition import (
    HEAD_BYTES,
    Format,
    RecognizedFormat,
    has_lines_with_cr,
    is_import,
    recognize,
)
from forum_conformance.foreign.symposium import ARTIFACT
from forum_conformance.judge import OutsideEvidence, judge, judge_stream
from forum_conformance.report import Report

LEDGER = "ledger.jsonl"
BODIES = "bodies.tar"
STANDARD_INPUT = "-"
_LINES_WITH_CR = (
    "its lines end with CR LF, but a ledger's lines end with LF: an editor, a mail program or git (core.autocrlf) "
    "inserted the CR later, so no line is canonical"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A record to judge. `path` is None for standard input; `fault` says why the record cannot be judged."""

    name: str
    path: Path | None
    fault: str | None = None

    @property
    def is_bare(self) -> bool:
        return self.path is None or not self.path.is_dir()

    @property
    def has_checkpoint(self) -> bool:
        return self.path is not None and not self.is_bare and os.path.lexists(self.path / "checkpoint")


def targets_at(argument: str) -> Iterator[Target] | None:
    """If the path is a directory of run directories, its records, found lazily; otherwise, or without records, None."""
    path = Path(argument)
    try:
        if argument == STANDARD_INPUT or not path.is_dir() or (path / LEDGER).exists() or _foreign_file(path):
            return None
    except OSError:
        # Judging the path raises the same error, which is then reported.
        return None
    targets = _records_below(path)
    first = next(targets, None)
    return None if first is None else chain([first], targets)


def target_at(argument: str) -> Target:
    return Target(argument, None if argument == STANDARD_INPUT else Path(argument))


def _records_below(folder: Path) -> Iterator[Target]:
    """The records in a directory tree, ordered by name.

    Links are not followed: they may lead out of the directory or form a cycle.
    """
    pending = [folder]
    while pending:
        path = pending.pop()
        try:
            with os.scandir(path) as entries:
                entries_by_name = {entry.name: entry for entry in entries}
            is_record = LEDGER in entries_by_name or _foreign_file(path) is not None
        except OSError as error:
            yield Target(str(path), path, f"cannot read '{path}': {error.strerror or error}")
            continue
        if is_record:
            yield Target(str(path), path)
            continue
        if BODIES in entries_by_name:
            yield Target(str(path), path, f"'{path}' has {BODIES}, but no {LEDGER}")
        yield from _other_records(path, entries_by_name)
        folders = (name for name, entry in entries_by_name.items() if entry.is_dir(follow_symlinks=False))
        pending.extend(path / name for name in sorted(folders, reverse=True))


def _other_records(folder: Path, entries_by_name: Mapping[str, os.DirEntry[str]]) -> Iterator[Target]:
    """Other content of a directory: links to run directories, and ledgers under other names."""
    for name in sorted(entries_by_name):
        path = folder / name
        if entries_by_name[name].is_symlink():
            if (path / LEDGER).exists():
                yield Target(str(path), path, f"'{path}' is a link, which is not followed")
        elif name.endswith(".jsonl") and path.is_file() and _looks_like_a_ledger(path):
            yield Target(str(path), path)


def _looks_like_a_ledger(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return recognize(stream.read(HEAD_BYTES), is_named_like_a_ledger=False) is None
    except OSError:
        return True


def judge_target(target: Target, stdin: BinaryIO, *, levels: frozenset[int], evidence: OutsideEvidence) -> Report:
    """Judge a target; for records of other formats, report the format."""
    if target.path is None:
        return _judge_stream(stdin, levels, evidence)
    directory = target.path if target.path.is_dir() else None
    file = _file_of(directory) if directory else target.path
    if not file.is_file():
        if directory is None and file.exists():
            with file.open("rb") as stream:
                return _judge_stream(stream, levels, evidence)
        return judge(target.path, levels=levels, evidence=evidence)
    with file.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
        stream.seek(0)
        recognized = recognize(head, is_named_like_a_ledger=directory is not None or file.name == LEDGER)
        if recognized and recognized.format is not Format.EMPTY:
            return report_foreign(ForeignRecord(recognized, head, stream, file, target.name))
    return _with_notes(judge(target.path, levels=levels, evidence=evidence), head, recognized)


def _file_of(directory: Path) -> Path:
    """The ledger of a directory or, if it has none, the main file of a known foreign format."""
    return directory / LEDGER if (directory / LEDGER).exists() else _foreign_file(directory) or directory / LEDGER


def _foreign_file(directory: Path) -> Path | None:
    """The main file of a forum-engine or symposium record; None if the directory has none."""
    for name, format_ in ((ENTRIES, Format.FORUM_ENGINE), (ARTIFACT, Format.SYMPOSIUM)):
        path = directory / name
        if path.is_file():
            with path.open("rb") as stream:
                recognized = recognize(stream.read(HEAD_BYTES), is_named_like_a_ledger=True)
            if recognized and recognized.format is format_:
                return path
    return None


def _judge_stream(stream: BinaryIO, levels: frozenset[int], evidence: OutsideEvidence) -> Report:
    head = stream.read(HEAD_BYTES)
    from_start = BufferedReader(_RewoundStream(head, stream))
    recognized = recognize(head, is_named_like_a_ledger=False)
    if recognized and recognized.format is not Format.EMPTY:
        return report_foreign(ForeignRecord(recognized, head, from_start))
    return _with_notes(judge_stream(from_start, levels=levels, evidence=evidence), head, recognized)


def _with_notes(report: Report, head: bytes, empty: RecognizedFormat | None) -> Report:
    """Add notes for people. `empty` is set if the record is empty."""
    foreign = describe_foreign(ForeignRecord(empty, b"", BufferedReader(_RewoundStream(b"", None)))) if empty else None
    notes = (_LINES_WITH_CR,) if has_lines_with_cr(head) else ()
    return replace(report, foreign=foreign, notes=notes, is_import=is_import(head))


class _RewoundStream(RawIOBase):
    """The bytes already read, followed by the rest of their stream."""

    def __init__(self, head: bytes, rest: BinaryIO | None) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        if self._head:
            data = bytes(self._head[: len(buffer)])
            self._head = self._head[len(data) :]
        else:
            data = self._rest.read(len(buffer)) if self._rest else b""
        buffer[: len(data)] = data
        return len(data)
