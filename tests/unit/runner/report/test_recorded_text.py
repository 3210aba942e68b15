"""Reasons of gate decisions, read from the bodies of a run."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_ledger.files import Body
from fake_ledger.ledger_builder import LedgerBuilder
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.report.entry_text import entry_text
from forum_runner.report.recorded_text import RecordedText, TextReader, TextState

AT = "2026-11-15T09:00:00.000000Z"
SALTED = Body(b"private", salt=b"s" * 32)
LONG = Body(b"x" * 1_000_001)


def directory_with(tmp_path: Path, *bodies: Body) -> Path:
    bodies_by_name = {f"body{number}": body for number, body in enumerate(bodies)}
    builder = LedgerBuilder()
    builder.add("x-note", bodies=bodies_by_name)
    return builder.write(tmp_path / "run")


def decision_entry(**bodies: Body) -> ReadEntry:
    data = {"decision": "approved", "by": "person", "authenticated": False}
    references = {name: body.reference for name, body in bodies.items()}
    return ReadEntry("r", 7, AT, "person:ann", "gate.decided", [], data, references)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (RecordedText(TextState.GIVEN, "read it twice"), "reason: read it twice"),
        (RecordedText(TextState.GIVEN, " two\n\tlines "), "reason: two lines"),
        (
            RecordedText(TextState.GIVEN, "a\x1b[2Jb\u202e"),
            "reason: a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}",
        ),
        (RecordedText(TextState.GIVEN, "x" * 500), f"reason: {'x' * 157}..."),
        (RecordedText(TextState.GIVEN, " \n"), "its reason is empty"),
        (RecordedText(TextState.SENSITIVE), "its reason is sensitive"),
        (RecordedText(TextState.REDACTED), "its reason is redacted"),
        (RecordedText(TextState.UNREAD), "its reason is not available"),
    ],
)
def test_a_reason_is_shown_as_one_short_line(reason: RecordedText, sentence: str) -> None:
    assert reason.as_reason == sentence


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (Body(b"good"), RecordedText(TextState.GIVEN, "good")),
        (Body(b"\xff"), RecordedText(TextState.GIVEN, "\N{REPLACEMENT CHARACTER}")),
        (SALTED, RecordedText(TextState.SENSITIVE)),
        (LONG, RecordedText(TextState.UNREAD)),
    ],
)
def test_a_sensitive_or_too_long_reason_is_not_read(tmp_path: Path, body: Body, reason: RecordedText) -> None:
    directory = directory_with(tmp_path, Body(b"another"), body)

    with TextReader(directory) as reader:
        assert reader.reason_of(decision_entry(reason=body)) == reason


def test_a_redacted_reason_is_not_shown_even_if_its_bytes_still_exist(tmp_path: Path) -> None:
    bodies = (Body(b"good"), SALTED)

    with TextReader(directory_with(tmp_path, *bodies)) as reader:
        read = [reader.read(body.reference, {body.digest}) for body in bodies]

    assert read == [RecordedText(TextState.REDACTED)] * 2


def test_without_bodies_a_reason_is_reported_as_unread(tmp_path: Path) -> None:
    for directory in (None, tmp_path):
        with TextReader(directory) as reader:
            assert reader.reason_of(decision_entry(reason=Body(b"good"))) == RecordedText(TextState.UNREAD)
            assert reader.reason_of(decision_entry(reason=SALTED)) == RecordedText(TextState.SENSITIVE)
            assert reader.reason_of(decision_entry()) is None


def test_only_decisions_have_reasons(tmp_path: Path) -> None:
    body = Body(b"good")
    redaction = ReadEntry("r", 8, AT, "person:ann", "body.redacted", [], {}, {"reason": body.reference})

    with TextReader(directory_with(tmp_path, body)) as reader:
        assert reader.reason_of(redaction) is None


VALUES = st.none() | st.integers() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)


@given(st.dictionaries(st.sampled_from(["digest", "bytes", "type", "salted"]), VALUES))
def test_an_invalid_body_reference_yields_no_text(body: dict[str, object]) -> None:
    with TextReader(None) as reader:
        assert reader.read(body).text is None


def test_the_entry_text_mentions_an_edited_instruction() -> None:
    assert entry_text(decision_entry()) == "approved by person (not authenticated)"
    assert entry_text(decision_entry(edited=Body(b"x"))) == "approved by person (not authenticated), instruction edited"
