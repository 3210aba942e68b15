"""Reads traces of OpenTelemetry as OTLP JSON: one document, or one a line as file exporters write them.

A span is exported when it has ended, so children stand before their parents. In the ledger spans stand in the order of
their beginnings, and each after its parent, so that what was called follows from what called it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.importing.fault import SourceError
from forum_runner.importing.gathered import Check, Format, Gathered, Order
from forum_runner.importing.otel_span import event_facts, span_facts, text_bodies
from forum_runner.importing.otel_values import ShapeError, attributes_of, nanoseconds, objects, with_wide_as_text
from forum_runner.importing.record import Record
from forum_runner.importing.source import SourceFile
from forum_runner.importing.spool import Spool
from forum_runner.importing.strict_json import Text, read_json
from forum_runner.ledger.body import JSON, Body

SIGNALS = ("resourceSpans", "resourceLogs", "resourceMetrics")
_GROUND = "traces have no hashes of their own"
Key = tuple[str, str]


def gather(spool: Spool, file: SourceFile, max_source_bytes: int, *, is_lines: bool) -> Gathered:
    tree = _Tree()
    texts = file.lines() if is_lines else iter([file.whole()])
    for text in texts:
        _Reader(text, spool, tree).read()
    if not len(spool):
        raise SourceError(file.name, "", "it holds no span and no log record")
    source = file.whole_if_small(max_source_bytes)
    return Gathered(Format.OTEL, spool, (file.facts(),), Check.NOT_CHECKED, _GROUND, source, tree.order())


@dataclass(slots=True)
class _Tree:
    """Which record is which span, what it began under, and when: what the order needs, and nothing else of it."""

    starts: list[int] = field(default_factory=list)
    parents: list[Key | None] = field(default_factory=list)
    spans: dict[Key, int] = field(default_factory=dict)

    def add(self, start: int, parent: Key | None) -> int:
        self.starts.append(start)
        self.parents.append(parent)
        return len(self.starts) - 1

    def order(self) -> Order:
        above = [self.spans.get(parent) if parent else None for parent in self.parents]
        ranks = _ranks(self.starts, above)
        numbers = sorted(range(len(ranks)), key=lambda number: (*ranks[number], number))
        places = {number: place for place, number in enumerate(numbers)}
        causes = [self._cause(above[number], place, places) for place, number in enumerate(numbers)]
        return Order(numbers, causes)

    def _cause(self, parent: int | None, place: int, places: Mapping[int, int]) -> tuple[int, ...]:
        # Spans that are each other's parents have no first among them: the link that leads forwards is left out.
        return (places[parent],) if parent is not None and places[parent] < place else ()


def _ranks(starts: Sequence[int], above: Sequence[int | None]) -> list[tuple[int, int]]:
    """For each record when it began, not before its parent did by the parent's clock, and how deep it lies."""
    ranks: list[tuple[int, int] | None] = [None] * len(starts)
    for number in range(len(starts)):
        path: list[int] = []
        on_path: set[int] = set()
        at: int | None = number
        while at is not None and ranks[at] is None and at not in on_path:
            path.append(at)
            on_path.add(at)
            at = above[at]
        start, depth = (ranks[at] or (0, -1)) if at is not None else (0, -1)
        for item in reversed(path):
            start, depth = max(start, starts[item]), depth + 1
            ranks[item] = (start, depth)
    return [rank or (0, 0) for rank in ranks]


class _Reader:
    """One text of a source: its resources, their scopes, and the spans and log records in these."""

    def __init__(self, text: Text, spool: Spool, tree: _Tree) -> None:
        self._text = text
        self._spool = spool
        self._tree = tree
        self._place = ""

    def read(self) -> None:
        document = read_json(self._text, is_wide=True)
        if not isinstance(document, dict) or not any(name in document for name in SIGNALS):
            sentence = f"it has none of {', '.join(SIGNALS)}, so it is no OTLP JSON"
            raise SourceError(self._text.file, f"line {self._text.line}", sentence)
        try:
            for item in self._items(document, "resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans"):
                self._add_span(*item)
            for item in self._items(document, "resourceLogs", ("scopeLogs",), "logRecords"):
                self._add_event(*item)
        except (ShapeError, CanonicalError) as error:
            where = f"line {self._text.line}{', ' if self._place else ''}{self._place}"
            raise SourceError(self._text.file, where, str(error)) from error

    def _items(
        self, document: dict[str, Any], signal: str, scopes: tuple[str, ...], items: str
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Body]]]:
        """Each item, its resource's attributes, and both as bodies: these are the same for many, and stored once."""
        for outer, resource in enumerate(objects(document, signal)):
            described = resource.get("resource") or {}
            attributes = attributes_of(described)
            for middle, scope in enumerate(objects(resource, *scopes)):
                bodies = {"resource": _json(described)}
                named = scope.get("scope") or scope.get("instrumentationLibrary")
                bodies |= {"scope": _json(named)} if named else {}
                for inner, item in enumerate(objects(scope, items)):
                    self._place = f"/{signal}/{outer}/{scopes[0]}/{middle}/{items}/{inner}"
                    yield item, attributes, {**bodies, "record": _json(item), **text_bodies(item)}

    def _add_span(self, span: dict[str, Any], resource: dict[str, Any], bodies: dict[str, Body]) -> None:
        key = _key(span, "spanId")
        if key is None:
            raise ShapeError("it has no traceId and spanId")
        number = self._tree.add(nanoseconds(span, "startTimeUnixNano"), _key(span, "parentSpanId"))
        self._tree.spans.setdefault(key, number)
        self._spool.add(Record("x-import-span", span_facts(span, resource), bodies))

    def _add_event(self, event: dict[str, Any], resource: dict[str, Any], bodies: dict[str, Body]) -> None:
        start = nanoseconds(event, "timeUnixNano", "observedTimeUnixNano")
        self._tree.add(start, _key(event, "spanId"))
        self._spool.add(Record("x-import-event", event_facts(event, resource), bodies))


def _key(item: dict[str, Any], name: str) -> Key | None:
    trace, span = item.get("traceId"), item.get(name)
    if not isinstance(trace, str) or not isinstance(span, str) or not trace or not span:
        return None
    return trace, span


def _json(value: Any) -> Body:
    return Body(canonical(with_wide_as_text(value)), JSON)
