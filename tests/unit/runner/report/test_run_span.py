"""How long a run took: up to its own end, whatever was done to its record later."""

import json
from collections.abc import Iterator

import pytest

from fake_ledger.files import Body
from forum_runner.history.difference import RunDifference, compare
from forum_runner.ledger.read_entry import ReadEntry, read_entry
from forum_runner.report.difference_json import difference_document
from forum_runner.report.difference_text import rows_of
from forum_runner.report.summary_json import summary_document
from forum_runner.report.summary_text import render_summary
from ledgers.example_run import ExampleRun

_DAYS_MS = 3 * 24 * 3_600_000


def told(*, is_sealed: bool, is_redacted: bool) -> ExampleRun:
    """A run of two entries or three, a body of which is redacted days after, if it is."""
    example = ExampleRun()
    note = example.add("x-note", bodies={"text": Body(b"private")})
    if is_sealed:
        example.seal()
    if is_redacted:
        example.wait(_DAYS_MS)
        example.redact_body(note, "text", "private")
        if is_sealed:
            example.seal()
    return example


def compared(*, is_sealed: bool) -> RunDifference:
    """A run, and the same one after a redaction."""
    examples = [told(is_sealed=is_sealed, is_redacted=is_redacted) for is_redacted in (False, True)]

    def entries_of(example: ExampleRun) -> Iterator[ReadEntry | None]:
        return map(read_entry, example.lines())

    return compare(*(lambda example=example: entries_of(example) for example in examples))


@pytest.mark.parametrize(("is_sealed", "span_ms"), [(True, 2_500), (False, 1_250)])
def test_a_redaction_that_was_made_days_later_does_not_count(is_sealed: bool, span_ms: int) -> None:
    before, after = compared(is_sealed=is_sealed).left, compared(is_sealed=is_sealed).right

    forms = [summary_document(summary) for summary in (before, after)]
    lines = [next(line for line in render_summary(summary, "run", color=False) if line.startswith("when"))
             for summary in (before, after)]  # fmt: skip

    assert [form["span_ms"] for form in forms] == [span_ms, span_ms]
    assert forms[0]["last_at"] == forms[1]["last_at"]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("is_sealed", [True, False])
def test_two_runs_that_took_the_same_time_are_not_told_apart_by_a_redaction(is_sealed: bool) -> None:
    difference = compared(is_sealed=is_sealed)

    form = json.loads(json.dumps(difference_document(difference)))

    assert form["a"]["span_ms"] == form["b"]["span_ms"]
    assert "time" not in [what for _, what, _, _ in rows_of(difference)]
