"""A fixture that feeds the entries of an example ledger to a progress display, as a runner does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forum_runner.ledger.clock import parse_time
from ledgers.example_run import ExampleRun
from unit.runner.progress.example_plan import typed_plan

Feed = Callable[..., None]
RUNS = Path(".forum/runs")


@pytest.fixture
def feed() -> Feed:
    """A function that feeds entries to a display.

    An earlier process wrote the first `earlier_count` entries, and entries from `until` on are left out.
    """

    def feed_entries(progress: Any, example: ExampleRun, until: int | None = None, earlier_count: int = 0) -> None:
        entries = [
            (seq, parse_time(entry["at"]), entry["kind"], entry["data"])
            for seq, entry in enumerate(example.entries[:until])
        ]
        progress.opened(example.run_id, RUNS / example.run_id, typed_plan(example.plan))
        progress.earlier_entries(entries[:earlier_count])
        for entry in entries[earlier_count:]:
            progress.entry(*entry)

    return feed_entries
