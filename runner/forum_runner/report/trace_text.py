"""The causes of an entry, for a person: the latest first, with a lane for each line of causes that is still open."""

from __future__ import annotations

from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.report.log_line import log_line

_MAX_LANES = 12
_MAX_CAUSES = 10


class Lanes:
    """Remembers which causes are still to come, and in which lane each of them will stand."""

    def __init__(self, seq: int) -> None:
        self._lanes = [seq]

    def line(self, entry: ReadEntry, *, color: bool) -> str:
        place = self._lanes.index(entry.seq)
        marks = ["*" if lane == place else "|" for lane in range(len(self._lanes))]
        others = [cause for cause in sorted(set(entry.causes), reverse=True) if cause < entry.seq]
        self._lanes[place : place + 1] = [cause for cause in others if cause not in self._lanes]
        drawn = " ".join(marks[:_MAX_LANES]) + (" ..." if len(marks) > _MAX_LANES else "")
        return f"{drawn}  {log_line(entry, color=color)}{_because(entry)}"


def _because(entry: ReadEntry) -> str:
    """Said where the lanes alone leave it open."""
    if len(entry.causes) < 2:
        return ""
    listed = ", ".join(f"{cause}" for cause in entry.causes[:_MAX_CAUSES])
    return f"  <- {listed}" + (", ..." if len(entry.causes) > _MAX_CAUSES else "")
