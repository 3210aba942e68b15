"""The tree of spans: their order in the ledger, and faults in their ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from forum_runner.importing.otel_values import OtlpError
from forum_runner.importing.parsed_source import RecordOrder
from forum_runner.manifest.units import counted

# The trace id and the span id of a span. All keys are in memory, so well-formed ids are stored as bytes.
Key = bytes | tuple[str, str]
# OTLP's JSON writes ids as hexadecimal digits, in either case.
_TRACE, _SPAN = re.compile(r"[0-9a-fA-F]{32}"), re.compile(r"[0-9a-fA-F]{16}")

# The rank of a record that has not been ranked, and of the missing parent of a root.
_NO_RANK = (0, -1)


class SpanFault(StrEnum):
    """A fault of a span or log record. It is recorded in the field `fault`; the record is imported anyway."""

    MALFORMED = "malformed id"
    DUPLICATE = "duplicate id"
    OWN_PARENT = "own parent"
    LOOP = "parent loop"


_REMARKS = {
    SpanFault.MALFORMED: "with a malformed id (expected 32 hexadecimal digits for a trace, 16 for a span)",
    SpanFault.DUPLICATE: "with the id of another span; references to the id resolve to the first",
    SpanFault.OWN_PARENT: "with itself as parent",
    SpanFault.LOOP: "in a parent cycle",
}


def span_key(span: Mapping[str, Any]) -> Key | None:
    """The key of a span; None if its trace id or its span id is missing."""
    return _key(_text(span, "traceId"), _text(span, "spanId"))


def parent_key(item: Mapping[str, Any], name: str) -> Key | None:
    """The key of a span's parent, or of a log record's span; None if there is none. `name` is the field with its id."""
    span = _text(item, name)
    # An id of only zeros means no id.
    return _key(_text(item, "traceId"), span) if span.strip("0") else None


def is_malformed(item: Mapping[str, Any], *names: str) -> bool:
    """Whether one of the ids that are present is malformed."""
    spans = [_text(item, name) for name in names]
    trace = _text(item, "traceId")
    return bool(trace and not _TRACE.fullmatch(trace)) or any(span and not _SPAN.fullmatch(span) for span in spans)


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise OtlpError(f"{name} is not a string")
    return value or ""


def _key(trace: str, span: str) -> Key | None:
    if not trace or not span:
        return None
    # Other encodings, such as base64, are case-sensitive.
    is_plain = _TRACE.fullmatch(trace) and _SPAN.fullmatch(span)
    return bytes.fromhex(trace + span) if is_plain else (trace, span)


@dataclass(slots=True)
class Tree:
    """The start time and the parent of each record, which determine the order of the records in the ledger."""

    starts: list[int] = field(default_factory=list)
    parents: list[Key | None] = field(default_factory=list)
    spans: dict[Key, int] = field(default_factory=dict)
    errors: int = 0
    _faults: dict[int, list[SpanFault]] = field(default_factory=dict)

    def add(self, start: int, parent: Key | None, *, is_malformed: bool) -> int:
        number = len(self.starts)
        self.starts.append(start)
        self.parents.append(parent)
        if is_malformed:
            self._add_fault(number, SpanFault.MALFORMED)
        return number

    def add_span(self, key: Key, start: int, parent: Key | None, *, is_malformed: bool) -> None:
        number = self.add(start, parent, is_malformed=is_malformed)
        if self.spans.setdefault(key, number) != number:
            self._add_fault(number, SpanFault.DUPLICATE)

    def order(self) -> RecordOrder:
        """The order of the records in the ledger. Finds loops of parents, and removes one link of each."""
        parent_numbers = [self.spans.get(parent) if parent else None for parent in self.parents]
        for loop in _loops(parent_numbers):
            for number in loop:
                self._add_fault(number, SpanFault.LOOP if len(loop) > 1 else SpanFault.OWN_PARENT)
            # A loop has no first span. Without one of its links, each parent can precede its children.
            parent_numbers[loop[-1]] = None
        ranks = _ranks(self.starts, parent_numbers)
        numbers = sorted(range(len(ranks)), key=lambda number: (*ranks[number], number))
        places = {number: place for place, number in enumerate(numbers)}
        parents = (parent_numbers[number] for number in numbers)
        causes = [() if parent is None else (places[parent],) for parent in parents]
        return RecordOrder(numbers, causes, {number: ", ".join(faults) for number, faults in self._faults.items()})

    def remarks(self) -> Iterator[str]:
        """Notes for a reader of the ledger. Call it after `order`, which finds some of the faults."""
        if self.errors:
            yield f"{counted(self.errors, 'record')} with status error"
        counts = Counter(fault for faults in self._faults.values() for fault in faults)
        yield from (f"{counted(counts[fault], 'record')} {_REMARKS[fault]}" for fault in SpanFault if counts[fault])

    def _add_fault(self, number: int, fault: SpanFault) -> None:
        self._faults.setdefault(number, []).append(fault)


def _loops(parent_numbers: Sequence[int | None]) -> Iterator[list[int]]:
    """Each loop of parents, once."""
    visited: set[int] = set()
    for number in range(len(parent_numbers)):
        path: dict[int, int] = {}
        current: int | None = number
        while current is not None and current not in visited:
            visited.add(current)
            path[current] = len(path)
            current = parent_numbers[current]
        if current is not None and current in path:
            yield list(path)[path[current] :]


def _ranks(starts: Sequence[int], parent_numbers: Sequence[int | None]) -> list[tuple[int, int]]:
    """The sort key of each record: its start time (at least the start time of its parent) and its depth in the tree."""
    ranks = [_NO_RANK] * len(starts)
    for number in range(len(starts)):
        path: list[int] = []
        current: int | None = number
        while current is not None and ranks[current] == _NO_RANK:
            path.append(current)
            current = parent_numbers[current]
        start, depth = _NO_RANK if current is None else ranks[current]
        for item in reversed(path):
            start, depth = max(start, starts[item]), depth + 1
            ranks[item] = (start, depth)
    return ranks
