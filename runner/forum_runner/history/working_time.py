"""How long processes worked on a run."""

from __future__ import annotations

from dataclasses import dataclass

from forum_runner.ledger.clock import read_time
from forum_runner.ledger.read_entry import MAINTENANCE_KINDS, ReadEntry

_RESUMED = "run.resumed"
# Kinds of entries that are written while no process works on the run.
_IDLE_KINDS = MAINTENANCE_KINDS | {"run.paused", _RESUMED}


@dataclass(slots=True)
class WorkingTime:
    """The time that processes worked on a run, without pauses and without the time between a crash and a resumption.

    `idle_since` is set while no process works on the run.
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
        """The microseconds of work between two times of the run."""
        return max(0, (elapsed_us(first, self.idle_since or last) or 0) - self.idle_us)


def elapsed_us(first: str, last: str) -> int | None:
    """The microseconds between two times of a ledger; None if one of them is not a time."""
    try:
        return max(0, read_time(last) - read_time(first))
    except ValueError:
        return None


def elapsed_ms(first: str, last: str) -> int | None:
    elapsed = elapsed_us(first, last)
    return elapsed // 1_000 if elapsed is not None else None
