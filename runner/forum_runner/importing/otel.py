"""Reads OpenTelemetry traces as OTLP JSON: one document, or one per line as file exporters write them.

A span is exported when it ends, so children precede their parents. The ledger orders spans by start time, each after
its parent, so that the entry of a call follows the entry of its caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.importing.import_file import ImportFile
from forum_runner.importing.imported_record import ImportedRecord
from forum_runner.importing.otel_span import log_record_facts, span_facts, text_bodies
from forum_runner.importing.otel_tree import Tree, is_malformed, parent_key, span_key
from forum_runner.importing.otel_values import OtlpError, as_json, attributes_of, nanoseconds, objects
from forum_runner.importing.parsed_source import ImportFormat, ParsedSource, SourceCheck
from forum_runner.importing.source_error import SourceError
from forum_runner.importing.spool import RecordSpool
from forum_runner.importing.strict_json import JsonText, read_json
from forum_runner.ledger.body import JSON, Body

SIGNALS = ("resourceSpans", "resourceLogs", "resourceMetrics")
_WHY_NOT_CHECKED = "traces contain no hashes"


def parse(spool: RecordSpool, file: ImportFile, max_source_bytes: int, *, is_json_lines: bool) -> ParsedSource:
    tree = Tree()
    texts = file.lines() if is_json_lines else iter([file.document()])
    for text in texts:
        _TraceReader(text, spool, tree).read()
    if not len(spool):
        raise SourceError(file.name, "", "the file contains no spans and no log records")
    source, order = file.content_if_small(max_source_bytes), tree.order()
    remarks, unchecked = tuple(tree.remarks()), SourceCheck.NOT_CHECKED
    return ParsedSource(ImportFormat.OTEL, spool, (file.facts(),), unchecked, _WHY_NOT_CHECKED, source, order, remarks)


class _TraceReader:
    """Reads one JSON text: its resources, their scopes, and the spans and log records in them."""

    def __init__(self, text: JsonText, spool: RecordSpool, tree: Tree) -> None:
        self._text = text
        self._spool = spool
        self._tree = tree
        self._place = ""

    def read(self) -> None:
        document = read_json(self._text, has_64_bit_integers=True)
        if not isinstance(document, dict) or not any(name in document for name in SIGNALS):
            sentence = f"not OTLP JSON: expected one of {', '.join(SIGNALS)}"
            raise SourceError(self._text.file, f"line {self._text.line}", sentence)
        try:
            for item in self._items(document, "resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans"):
                self._add_span(*item)
            for item in self._items(document, "resourceLogs", ("scopeLogs",), "logRecords"):
                self._add_log_record(*item)
        except (OtlpError, CanonicalError) as error:
            where = f"line {self._text.line}{', ' if self._place else ''}{self._place}"
            raise SourceError(self._text.file, where, str(error)) from error

    def _items(
        self, document: dict[str, Any], signal: str, scopes: tuple[str, ...], items: str
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Body]]]:
        """Each item with the attributes of its resource, and the bodies to record for the item."""
        for outer, resource in enumerate(objects(document, signal)):
            description = resource.get("resource") or {}
            attributes = attributes_of(description)
            for middle, scope in enumerate(objects(resource, *scopes)):
                bodies = {"resource": _json(description)}
                scope_description = scope.get("scope") or scope.get("instrumentationLibrary")
                bodies |= {"scope": _json(scope_description)} if scope_description else {}
                for inner, item in enumerate(objects(scope, items)):
                    self._place = f"/{signal}/{outer}/{scopes[0]}/{middle}/{items}/{inner}"
                    yield item, attributes, {**bodies, "record": _json(item), **text_bodies(item)}

    def _add_span(self, span: dict[str, Any], resource: dict[str, Any], bodies: dict[str, Body]) -> None:
        key = span_key(span)
        if key is None:
            raise OtlpError("the span has no traceId or spanId")
        start = nanoseconds(span, "startTimeUnixNano")
        data = span_facts(span, resource)
        self._tree.errors += data.get("status") == "error"
        self._tree.add_span(
            key, start, parent_key(span, "parentSpanId"), is_malformed=is_malformed(span, "spanId", "parentSpanId")
        )
        self._spool.add(ImportedRecord("x-import-span", data, bodies))

    def _add_log_record(self, record: dict[str, Any], resource: dict[str, Any], bodies: dict[str, Body]) -> None:
        start = nanoseconds(record, "timeUnixNano", "observedTimeUnixNano")
        self._tree.add(start, parent_key(record, "spanId"), is_malformed=is_malformed(record, "spanId"))
        self._spool.add(ImportedRecord("x-import-event", log_record_facts(record, resource), bodies))


def _json(value: Any) -> Body:
    return Body(canonical(as_json(value)), JSON)
