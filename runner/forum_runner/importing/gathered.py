"""What was read of a source, ready to be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from forum_runner.importing.record import Record
from forum_runner.importing.source import FileFacts
from forum_runner.importing.spool import Spool


class Format(StrEnum):
    FORUM_ENGINE = "forum-engine"
    SYMPOSIUM = "symposium"
    OTEL = "otel"


class Check(StrEnum):
    """Whether the hashes that a source has of itself are right."""

    OK = "ok"
    FAIL = "fail"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Order:
    """In which order records stand in the ledger, if not in their own; `causes` of each, by numbers in that order."""

    numbers: Sequence[int]
    causes: Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Gathered:
    """`ground` says in words what the check found. `source` is the only file, if it is small enough to be kept."""

    format: Format
    spool: Spool
    files: tuple[FileFacts, ...]
    check: Check
    ground: str
    source: bytes | None = None
    order: Order | None = None

    def records(self) -> Iterator[Record]:
        if self.order is None:
            yield from map(self.spool.read, range(len(self.spool)))
            return
        for number, causes in zip(self.order.numbers, self.order.causes, strict=True):
            yield replace(self.spool.read(number), causes=causes)
