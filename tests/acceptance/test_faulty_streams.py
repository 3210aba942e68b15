"""Complete runs against servers that end their streams incorrectly, in both formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.faulty_runs import ANSWER_USAGE, formats, truncated_stream
from acceptance.model_workflows import KEY, NO_TOKENS, calls, run_hello, totals
from acceptance.workflow_folder import Folder
from servers.faulty import Act, Cut, FaultyServer, Pause, does
from servers.formats import Format, ModelAnswer, event, streamed_answer
from servers.http_bytes import END_OF_CHUNKS, chunk, chunked


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work", {"KEY": KEY})


@formats
def test_a_complete_answer_without_an_end_marker_is_not_charged_twice(
    folder: Folder, server: FaultyServer, format_: Format
) -> None:
    server.will(does(*chunked(streamed_answer(format_, ModelAnswer())[:-1])))

    result = run_hello(folder, server.base_url, format_)
    (call,) = calls(folder)

    assert (result.code, call.outcome, call.tokens) == (0, "ok", ANSWER_USAGE), result
    assert len(server.requests) == 1


@formats
@pytest.mark.parametrize("ending", [Cut(), Cut(is_reset=True), END_OF_CHUNKS], ids=["closed", "reset", "ended"])
def test_a_truncated_answer_is_recorded_and_charged_with_its_full_reservation(
    folder: Folder, server: FaultyServer, format_: Format, ending: Act
) -> None:
    server.will(does(*truncated_stream(format_), Pause(0.05), ending))

    result = run_hello(folder, server.base_url, format_)
    first, second = calls(folder)

    assert result.code == 0, result
    assert (first.outcome, first.reply, first.detail["message"]) == (
        "network",
        b"Hello, world.",
        f"the connection to 127.0.0.1:{server.port} ended before the answer was complete",
    )
    assert (first.tokens, first.is_measured) == (first.reserved_tokens, False)
    assert (second.outcome, second.tokens, second.is_measured) == ("ok", ANSWER_USAGE, True)
    spent = {name: first.tokens[name] + second.tokens[name] for name in NO_TOKENS}
    assert {name: totals(folder)[name] for name in NO_TOKENS} == spent


@formats
@pytest.mark.parametrize(
    ("label", "kind"), [("overloaded_error", "model_unavailable"), ("rate_limit_error", "rate_limited")]
)
def test_an_error_within_a_stream_has_its_own_kind_and_is_charged(
    folder: Folder, server: FaultyServer, format_: Format, label: str, kind: str
) -> None:
    error = event({"type": "error", "error": {"type": label, "message": "too busy"}}, "error")
    server.will(does(*truncated_stream(format_), chunk(error), END_OF_CHUNKS))

    result = run_hello(folder, server.base_url, format_)
    first, second = calls(folder)

    assert result.code == 0, result
    assert (first.outcome, first.reply, second.outcome) == (kind, b"Hello, world.", "ok")
    assert first.detail["message"] == "the server aborted the answer: too busy"
    assert (first.tokens, first.is_measured) == (first.reserved_tokens, False)
