"""Valid run directories for tests, written without the runner's ledger code.

Every example is valid at each level that applies to it, and always has the same bytes.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ledgers import hidden, passing, stopping
from ledgers.example_run import ExampleRun

EXAMPLES: dict[str, Callable[[], ExampleRun]] = {
    example.__name__: example
    for example in (
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
    return EXAMPLES[name]().write(directory)


LEDGERS: dict[str, Callable[[Path], Path]] = {name: partial(write_example, name) for name in EXAMPLES}
