"""Tells the entries of an example ledger to a progress, as a runner would."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forum_runner.ledger.clock import read_time
from forum_runner.progress import Progress
from ledgers.example_run import ExampleRun

Tell = Callable[..., None]
RUNS = Path(".forum/runs")


@pytest.fixture
def tell() -> Tell:
    """`recalled` is how many entries an earlier process wrote, `until` the first that is not written yet."""

    def told(progress: Progress, example: ExampleRun, until: int | None = None, recalled: int = 0) -> None:
        progress.opened(example.run_id, RUNS / example.run_id, example.plan)
        for seq, entry in enumerate(example.entries[:until]):
            take = progress.recall if seq < recalled else progress.entry
            take(seq, read_time(entry["at"]), entry["kind"], entry["data"])

    return told
