"""How long processes worked on a run."""

from __future__ import annotations

from dataclasses import dataclass

from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.read_entry import MAINTENANCE_KINDS, ReadEntry

_RESUMED = "run.resumed"
# Kinds of entries that are written while no process works on the run.
_IDLE_KINDS = MAINTENANCE_KINDS | {"run.paused", _RESUMED}


@dataclass(slots=True)
class WorkingTime:
    """Measures how long processes worked on a run: the time from entry to entry, minus the idle time.

    A run is idle while it is paused, and from a crash until it is resumed. `idle_since` is set while it is idle.
    """

    idle_us: int = 0
    idle_since: str | None = None

    def apply(self, entry: ReadEntry, previous: ReadEntry | None) -> None:
        if entry.kind not in _IDLE_KINDS:
            return
        if self.idle_since is None:
            # Without a pause, the process was killed. It was last known to work at the previous entry.
            self.idle_since = entry.at if entry.kind == "run.paused" or previous is None else previous.at
        if entry.kind == _RESUMED:
            self.idle_us += elapsed_us(self.idle_since, entry.at) or 0
            self.idle_since = None

    def between(self, first: str, last: str) -> int:
        """The microseconds of work between the first and the last time of a run."""
        return max(0, (elapsed_us(first, self.idle_since or last) or 0) - self.idle_us)


def elapsed_us(first: str, last: str) -> int | None:
    """The microseconds between two times of a ledger; None if one of them is not a time."""
    try:
        return max(0, parse_time(last) - parse_time(first))
    except ValueError:
        return None
