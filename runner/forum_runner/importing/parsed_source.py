"""The content of a source, ready to be written."""

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
    """Whether the source's own hashes are correct."""

    OK = "ok"
    FAIL = "fail"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class RecordOrder:
    """The order of the records in the ledger if it differs from the source; `causes` are numbers in that order.

    `faults` describes faults that only the whole source reveals, by the number of the record in the source.
    """

    numbers: Sequence[int]
    causes: Sequence[tuple[int, ...]]
    faults: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """`reason` describes the result of the check. `source` is the only file, if it is small enough to be stored.

    `remarks` are notes for a reader about the records as a whole.
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
