"""The parsed content of a source, ready to be written to a ledger."""

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
    """The order of the records in the ledger, if it differs from the order in the source.

    `numbers` are the numbers of the records in the source. `causes` are, for each of them, positions in this order.
    `faults` describes the faults of records, by their number in the source.
    """

    numbers: Sequence[int]
    causes: Sequence[tuple[int, ...]]
    faults: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """The records of a source, and the result of checking its hashes.

    `reason` explains the result. `source` is the content of the file if it is small enough to be stored. `order` is
    None if the records keep the order of the source. `remarks` are notes about all records, for readers of the ledger.
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
