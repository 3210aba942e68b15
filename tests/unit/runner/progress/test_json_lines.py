"""Progress for programs: one JSON object per entry and line."""

import io
import json
from collections.abc import Callable

import pytest

from fake_ledger.files import RUN
from forum_runner.ledger.clock import parse_time
from forum_runner.progress.json_lines import JsonProgress
from ledgers import EXAMPLES

Feed = Callable[..., None]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_line_after_the_first_is_an_entry_of_the_ledger(feed: Feed, name: str) -> None:
    example, stream = EXAMPLES[name](), io.StringIO()

    feed(JsonProgress(stream), example)

    first, *rest = map(json.loads, stream.getvalue().splitlines())
    size = {"tasks": len(example.plan["tasks"]), "waves": len(example.plan["waves"])}
    assert first == {
        "kind": "progress.opened",
        "run": example.run_id,
        "directory": f".forum/runs/{example.run_id}",
        **size,
    }
    assert rest == [{name: entry[name] for name in ("seq", "at", "kind", "data")} for entry in example.entries]


def test_lines_are_compact_sorted_and_ascii(feed: Feed) -> None:
    example, stream = EXAMPLES["no_plan"](), io.StringIO()

    feed(JsonProgress(stream), example, until=1)

    assert stream.getvalue() == (
        f'{{"directory":".forum/runs/{RUN}","kind":"progress.opened","run":"{RUN}","tasks":0,"waves":0}}\n'
        '{"at":"2026-11-15T09:00:00.000000Z","data":{"format":1,"implementation":{"name":"pretend-runner",'
        '"version":"1.0.0"},"mode":"scripted"},"kind":"run.opened","seq":0}\n'
    )


def test_short_waits_and_earlier_entries_are_not_printed(feed: Feed) -> None:
    example, stream = EXAMPLES["two_waves"](), io.StringIO()
    progress = JsonProgress(stream)

    feed(progress, example, earlier_count=len(example.entries))
    progress.waiting(parse_time(example.entries[-1]["at"]) + 900_000, "rate limit before draft")

    assert len(stream.getvalue().splitlines()) == 1


def test_a_wait_is_printed_once_with_its_end() -> None:
    stream, now = io.StringIO(), [0.0]
    progress = JsonProgress(stream, clock=lambda: now[0])
    progress.entry(0, parse_time("2026-11-15T09:00:00.000000Z"), "run.opened", {})
    now[0] = 0.01

    for _ in range(2):
        progress.waiting(parse_time("2026-11-15T09:00:04.000000Z"), "retry of draft")

    assert stream.getvalue().splitlines()[1:] == [
        '{"kind":"progress.waiting","until":"2026-11-15T09:00:04.000000Z","wait_ms":4000,"why":"retry of draft"}'
    ]


def test_events_that_are_not_entries_have_their_own_kinds() -> None:
    stream = io.StringIO()
    progress = JsonProgress(stream)
    assert not progress.has_written

    progress.stopping()
    progress.event("notice", text="caf\N{LATIN SMALL LETTER E WITH ACUTE}")

    assert progress.has_written
    assert stream.getvalue() == ('{"kind":"progress.stopping"}\n{"kind":"progress.notice","text":"caf\\u00e9"}\n')
