"""Whole runs against servers that end their streams badly, in both formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.faulty_runs import COUNTED, cut_stream, formats
from acceptance.model_workflows import KEY, NOTHING, calls, run_hello, totals
from acceptance.workflow_folder import Folder
from servers.faulty import Act, Cut, FaultyServer, Pause, does
from servers.formats import Format, Said, event, streamed_answer
from servers.http_bytes import END_OF_CHUNKS, chunk, chunked


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "work", {"KEY": KEY})


@formats
def test_a_whole_answer_without_an_end_marker_is_not_paid_twice(
    folder: Folder, server: FaultyServer, format_: Format
) -> None:
    server.will(does(*chunked(streamed_answer(format_, Said())[:-1])))

    result = run_hello(folder, server.base_url, format_)
    (call,) = calls(folder)

    assert (result.code, call.how, call.tokens) == (0, "ok", COUNTED), result
    assert len(server.received) == 1


@formats
@pytest.mark.parametrize("end", [Cut(), Cut(is_reset=True), END_OF_CHUNKS], ids=["closed", "reset", "ended"])
def test_an_answer_that_is_cut_off_is_kept_and_paid_for_as_if_it_were_whole(
    folder: Folder, server: FaultyServer, format_: Format, end: Act
) -> None:
    server.will(does(*cut_stream(format_), Pause(0.05), end))

    result = run_hello(folder, server.base_url, format_)
    first, second = calls(folder)

    assert result.code == 0, result
    assert (first.how, first.reply, first.detail["message"]) == ("network", b"Hello, world.", "the answer was cut off")
    assert (first.tokens, first.is_measured) == (first.reserved_tokens, False)
    assert (second.how, second.tokens, second.is_measured) == ("ok", COUNTED, True)
    spent = {name: first.tokens[name] + second.tokens[name] for name in NOTHING}
    assert {name: totals(folder)[name] for name in NOTHING} == spent


@formats
@pytest.mark.parametrize(
    ("label", "kind"), [("overloaded_error", "model_unavailable"), ("rate_limit_error", "rate_limited")]
)
def test_an_error_in_the_middle_of_an_answer_has_its_kind_and_is_not_free(
    folder: Folder, server: FaultyServer, format_: Format, label: str, kind: str
) -> None:
    error = event({"type": "error", "error": {"type": label, "message": "too busy"}}, "error")
    server.will(does(*cut_stream(format_), chunk(error), END_OF_CHUNKS))

    result = run_hello(folder, server.base_url, format_)
    first, second = calls(folder)

    assert result.code == 0, result
    assert (first.how, first.reply, second.how) == (kind, b"Hello, world.", "ok")
    assert first.detail["message"] == "the server broke off: too busy"
    assert (first.tokens, first.is_measured) == (first.reserved_tokens, False)
