"""Valid run directories for tests, written without the runner's ledger code.

Every example is valid at each level that applies to it, and always has the same bytes.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ledgers import partly_checked_ledgers, passed_runs, unsuccessful_runs
from ledgers.example_run import ExampleRun

EXAMPLES: dict[str, Callable[[], ExampleRun]] = {
    example.__name__: example
    for example in (
        passed_runs.two_waves,
        passed_runs.eager_foreach,
        passed_runs.matrix_and_used_plan,
        passed_runs.escalated,
        passed_runs.gate_approved,
        passed_runs.crash_and_resume,
        passed_runs.routed,
        passed_runs.reused_and_skipped,
        passed_runs.wide,
        unsuccessful_runs.gate_refused,
        unsuccessful_runs.budget_stop,
        unsuccessful_runs.failed_and_tolerated,
        unsuccessful_runs.cancelled,
        partly_checked_ledgers.redacted,
        partly_checked_ledgers.redacted_plan,
        partly_checked_ledgers.user_kinds,
        partly_checked_ledgers.no_plan,
    )
}


def write_example(name: str, directory: Path) -> Path:
    return EXAMPLES[name]().write(directory)


LEDGERS: dict[str, Callable[[Path], Path]] = {name: partial(write_example, name) for name in EXAMPLES}
