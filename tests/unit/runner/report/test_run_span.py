"""The duration of a run, which later redactions do not extend."""

import json
from collections.abc import Iterator

import pytest

from fake_ledger.files import Body
from forum_runner.history.difference import RunDifference, compare
from forum_runner.ledger.read_entry import ReadEntry, read_entry
from forum_runner.report.difference_json import difference_document
from forum_runner.report.difference_text import difference_rows
from forum_runner.report.summary_json import summary_document
from forum_runner.report.summary_text import render_summary
from ledgers.example_run import ExampleRun

_THREE_DAYS_MS = 3 * 24 * 3_600_000


def example_run(*, is_sealed: bool, is_redacted: bool) -> ExampleRun:
    """Build a run of two or three entries, optionally with a redaction days later."""
    example = ExampleRun()
    note = example.add("x-note", bodies={"text": Body(b"private")})
    if is_sealed:
        example.seal()
    if is_redacted:
        example.wait(_THREE_DAYS_MS)
        example.redact_body(note, "text", "private")
        if is_sealed:
            example.seal()
    return example


def compare_with_redacted(*, is_sealed: bool) -> RunDifference:
    """Compare a run with the same run after a redaction."""
    examples = [example_run(is_sealed=is_sealed, is_redacted=is_redacted) for is_redacted in (False, True)]

    def entries_of(example: ExampleRun) -> Iterator[ReadEntry | None]:
        return map(read_entry, example.lines())

    return compare(*(lambda example=example: entries_of(example) for example in examples))


@pytest.mark.parametrize(("is_sealed", "span_ms"), [(True, 2_500), (False, 1_250)])
def test_a_redaction_days_later_does_not_count(is_sealed: bool, span_ms: int) -> None:
    before, after = compare_with_redacted(is_sealed=is_sealed).left, compare_with_redacted(is_sealed=is_sealed).right

    documents = [summary_document(summary) for summary in (before, after)]
    lines = [next(line for line in render_summary(summary, "run", color=False) if line.startswith("when"))
             for summary in (before, after)]  # fmt: skip

    assert [document["span_ms"] for document in documents] == [span_ms, span_ms]
    assert documents[0]["last_at"] == documents[1]["last_at"]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_redaction_does_not_make_two_durations_differ(is_sealed: bool) -> None:
    difference = compare_with_redacted(is_sealed=is_sealed)

    document = json.loads(json.dumps(difference_document(difference)))

    assert document["a"]["span_ms"] == document["b"]["span_ms"]
    assert "time" not in [name for _, name, _, _ in difference_rows(difference)]
