"""OpenTelemetry traces: the order of spans, their causes and their data."""

import json
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from typing import Any

import pytest

from forum_runner.importing.import_file import ImportFile
from forum_runner.importing.imported_record import ImportedRecord
from forum_runner.importing.otel import parse
from forum_runner.importing.parsed_source import ParsedSource
from forum_runner.importing.source_error import SourceError
from forum_runner.importing.spool import RecordSpool


@pytest.fixture
def spool() -> Iterator[RecordSpool]:
    with closing(RecordSpool()) as spool:
        yield spool


def attribute(key: str, **value: Any) -> dict[str, Any]:
    return {"key": key, "value": value}


ROLE = attribute("role", stringValue="assistant")


def span(id_: str, parent: str | None = None, start: Any = "0", **fields: Any) -> dict[str, Any]:
    parent_field = {"parentSpanId": parent} if parent else {}
    return {"traceId": "t", "spanId": id_, **parent_field, "startTimeUnixNano": start, **fields}


def spans(*items: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(items)}]}]}


def logs(*items: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(items)}]}]}


def parse_documents(spool: RecordSpool, *documents: dict[str, Any]) -> ParsedSource:
    data = b"".join(json.dumps(document).encode() + b"\n" for document in documents)
    return parse(spool, ImportFile("trace.jsonl", BytesIO(data)), 0, is_json_lines=True)


def imported_records(spool: RecordSpool, *documents: dict[str, Any]) -> list[ImportedRecord]:
    return list(parse_documents(spool, *documents).records())


def spans_and_causes(imported: list[ImportedRecord]) -> list[tuple[Any, tuple[int, ...]]]:
    return [(record.data.get("span"), record.causes) for record in imported]


def test_spans_are_ordered_by_start_time_and_follow_their_parents(spool: RecordSpool) -> None:
    imported = imported_records(
        spool, spans(span("c", "b", "30"), span("b", "a", "20")), spans(span("d", "a", "25"), span("a", None, "10"))
    )

    assert spans_and_causes(imported) == [("a", ()), ("b", (0,)), ("d", (0,)), ("c", (1,))]


def test_a_child_whose_clock_is_behind_still_follows_its_parent(spool: RecordSpool) -> None:
    imported = imported_records(
        spool, spans(span("c", "b", "1"), span("b", "a", "2"), span("a", None, "900"), span("z", None, "800"))
    )

    assert spans_and_causes(imported) == [("z", ()), ("a", ()), ("b", (1,)), ("c", (2,))]


def test_a_missing_parent_is_named_and_not_linked(spool: RecordSpool) -> None:
    (record,) = imported_records(spool, spans(span("b", "gone", "2")))

    assert (record.data["parent"], record.causes) == ("gone", ())


def test_spans_in_a_parent_cycle_have_only_earlier_causes(spool: RecordSpool) -> None:
    imported = imported_records(spool, spans(span("a", "b", "1"), span("b", "a", "2"), span("s", "s", "3")))

    assert sorted(len(record.causes) for record in imported) == [0, 0, 1]
    assert all(cause < index for index, record in enumerate(imported) for cause in record.causes)


TRACE, A, B, C = "5b8efff798038103d269b633813fc60c", "00000000000000aa", "00000000000000bb", "00000000000000cc"


def valid_span(id_: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return {**span(id_, parent), "traceId": TRACE, **fields}


FAULTS: dict[str, tuple[list[dict[str, Any]], list[str | None], list[str]]] = {
    "no fault": ([valid_span(A), valid_span(B, A), valid_span(C, "00000000000000ff")], [None, None, None], []),
    "its own parent": ([valid_span(A, A)], ["own parent"], ["1 record with itself as parent"]),
    "a loop and a child of the loop": (
        [valid_span(A, B), valid_span(B, A), valid_span(C, A)],
        ["parent loop", "parent loop", None],
        ["2 records in a parent cycle"],
    ),
    "a duplicate id in upper and lower case": (
        [valid_span(A), valid_span(A.upper()), valid_span(B, A)],
        [None, "duplicate id", None],
        ["1 record with the id of another span; references to the id resolve to the first"],
    ),
    "ids in base64, too short, and not hexadecimal": (
        [valid_span("7uGbfsPBsXM="), valid_span(A, A[1:]), valid_span(B, traceId="x" * 32)],
        ["malformed id"] * 3,
        ["3 records with a malformed id (expected 32 hexadecimal digits for a trace, 16 for a span)"],
    ),
    "an all-zero parent means no parent": ([valid_span(A, "0" * 16)], [None], []),
    "status error in the source": ([valid_span(A, status={"code": 2})], [None], ["1 record with status error"]),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_of_spans_are_recorded_and_summarized(case: str, spool: RecordSpool) -> None:
    items, faults, remarks = FAULTS[case]

    parsed = parse_documents(spool, spans(*items))

    imported = {(record.data["span"], record.data["trace"]): record.data.get("fault") for record in parsed.records()}
    assert imported == {(item["spanId"], item["traceId"]): fault for item, fault in zip(items, faults, strict=True)}
    assert list(parsed.remarks) == remarks


def test_the_status_of_a_span_is_recorded(spool: RecordSpool) -> None:
    imported = imported_records(
        spool, spans(valid_span(A, status={"code": 2}), valid_span(B, status={"code": "STATUS_CODE_OK"}), valid_span(C))
    )

    assert [record.data["status"] for record in imported] == ["error", "ok", "unset"]


@pytest.mark.parametrize("name", ["traceId", "spanId", "parentSpanId"])
def test_an_id_that_is_not_a_string_is_rejected(name: str, spool: RecordSpool) -> None:
    with pytest.raises(SourceError, match=f"{name} is not a string"):
        imported_records(spool, spans({**valid_span(A), name: 7}))


def test_a_long_chain_of_spans_needs_no_recursion(spool: RecordSpool) -> None:
    many = [span(str(number), str(number - 1), "1") for number in range(5_000, 0, -1)]

    imported = imported_records(spool, spans(*many))

    assert [record.causes for record in imported] == [(), *((number,) for number in range(4_999))]


def test_a_log_record_follows_from_its_span(spool: RecordSpool) -> None:
    event = {
        "traceId": "t",
        "spanId": "a",
        "timeUnixNano": "5",
        "eventName": "gen_ai.choice",
        "body": {"stringValue": "x"},
    }

    imported = imported_records(spool, logs(event), spans(span("a", None, "1")))

    assert [(record.kind, record.causes) for record in imported] == [("x-import-span", ()), ("x-import-event", (0,))]


def test_64_bit_numbers_are_accepted_and_stored_as_strings(spool: RecordSpool) -> None:
    (record,) = imported_records(
        spool, spans(span("a", None, 1_794_733_200_000_000_001, attributes=[attribute("n", intValue=2**60)]))
    )

    stored = json.loads(record.bodies["record"].data)
    assert record.data["time"] == "2026-11-15T09:00:00.000000Z"
    assert (stored["startTimeUnixNano"], stored["attributes"][0]["value"]) == (
        "1794733200000000001",
        {"intValue": str(2**60)},
    )


def test_an_out_of_range_number_elsewhere_is_rejected_with_its_location(spool: RecordSpool) -> None:
    with pytest.raises(SourceError) as raised:
        imported_records(spool, spans(span("a", flags=2**60)))

    assert (raised.value.place, raised.value.sentence) == (
        "line 1, /resourceSpans/0/scopeSpans/0/spans/0",
        f"{2**60} is outside the range ±(2^53 - 1), where JSON parsers agree on the value",
    )


@pytest.mark.parametrize(
    ("fields", "side", "expected"),
    [
        (
            {
                "attributes": [
                    attribute(f"gen_ai.prompt.{number}.content", stringValue=text)
                    for number, text in ((1, "b"), (0, "a"))
                ]
            },
            "input",
            [{"content": "a"}, {"content": "b"}],
        ),
        (
            {"events": [{"name": "gen_ai.user.message", "attributes": [attribute("content", stringValue="a")]}]},
            "input",
            [{"content": "a", "event": "gen_ai.user.message"}],
        ),
        (
            {"events": [{"name": "gen_ai.choice", "attributes": [attribute("index", intValue="0")]}]},
            "output",
            [{"event": "gen_ai.choice", "index": 0}],
        ),
        (
            {
                "attributes": [
                    attribute("gen_ai.output.messages", arrayValue={"values": [{"kvlistValue": {"values": [ROLE]}}]})
                ]
            },
            "output",
            [{"role": "assistant"}],
        ),
    ],
)
def test_messages_are_found_in_every_known_format(
    fields: dict[str, Any], side: str, expected: Any, spool: RecordSpool
) -> None:
    (record,) = imported_records(spool, spans(span("a", None, "1", **fields)))

    assert json.loads(record.bodies[side].data) == expected


def test_a_source_with_only_metrics_is_rejected(spool: RecordSpool) -> None:
    with pytest.raises(SourceError, match="contains no spans and no log records"):
        parse_documents(spool, {"resourceMetrics": []})


def test_a_long_value_is_only_in_the_record_body(spool: RecordSpool) -> None:
    (record,) = imported_records(spool, spans(span("a", None, "1", name="x" * 257)))

    assert "name" not in record.data
    assert json.loads(record.bodies["record"].data)["name"] == "x" * 257
