"""What was read of a source, ready to be written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from forum_runner.importing.import_file import FileFacts
from forum_runner.importing.imported_record import ImportedRecord
from forum_runner.importing.spool import RecordSpool


class ImportFormat(StrEnum):
    FORUM_ENGINE = "forum-engine"
    SYMPOSIUM = "symposium"
    OTEL = "otel"


class SourceCheck(StrEnum):
    """Whether the hashes that a source has of itself are right."""

    OK = "ok"
    FAIL = "fail"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class RecordOrder:
    """In which order records stand in the ledger, if not in their own; `causes` of each, by numbers in that order.

    `faults` says what is wrong with a record, by its own number, where only the whole of the source shows it.
    """

    numbers: Sequence[int]
    causes: Sequence[tuple[int, ...]]
    faults: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """`reason` says in words what the check found. `source` is the only file, if it is small enough to be kept.

    `remarks` are what a reader should know of the records as a whole.
    """

    format: ImportFormat
    spool: RecordSpool
    files: tuple[FileFacts, ...]
    check: SourceCheck
    reason: str
    source: bytes | None = None
    order: RecordOrder | None = None
    remarks: tuple[str, ...] = ()

    def records(self) -> Iterator[ImportedRecord]:
        if self.order is None:
            yield from map(self.spool.read, range(len(self.spool)))
            return
        for number, causes in zip(self.order.numbers, self.order.causes, strict=True):
            record, fault = self.spool.read(number), self.order.faults.get(number)
            yield replace(record, causes=causes, data={**record.data, "fault": fault} if fault else record.data)
