"""Lawful run directories for tests, written with none of the runner's ledger code.

Every example is valid at each level that it can be checked at, and always has the same bytes.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ledgers import hidden, passing, stopping
from ledgers.story import Story

STORIES: dict[str, Callable[[], Story]] = {
    story.__name__: story
    for story in (
        passing.two_waves,
        passing.eager_foreach,
        passing.matrix_and_used_plan,
        passing.climbing,
        passing.gate_approved,
        passing.crash_and_resume,
        passing.routed,
        passing.reused_and_skipped,
        passing.wide,
        stopping.gate_refused,
        stopping.budget_stop,
        stopping.failed_and_tolerated,
        stopping.cancelled,
        hidden.redacted,
        hidden.redacted_plan,
        hidden.own_entries,
        hidden.bare,
    )
}


def write_example(name: str, directory: Path) -> Path:
    return STORIES[name]().write(directory)


LEDGERS: dict[str, Callable[[Path], Path]] = {name: partial(write_example, name) for name in STORIES}
