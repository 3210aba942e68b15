"""The causes of an entry as a graph in text: the latest entry first, with a lane for each pending cause."""

from __future__ import annotations

from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.report.log_line import log_line

_MAX_LANES = 12
_MAX_CAUSES = 10


class CauseLanes:
    """The seqs of the causes that are not printed yet, one per lane."""

    def __init__(self, seq: int) -> None:
        self._lanes = [seq]

    def line(self, entry: ReadEntry, *, color: bool) -> str:
        """The line of an entry, whose causes then replace it in its lane. Entries must come latest first."""
        own_lane = self._lanes.index(entry.seq)
        marks = ["*" if lane == own_lane else "|" for lane in range(len(self._lanes))]
        causes = [cause for cause in sorted(set(entry.causes), reverse=True) if cause < entry.seq]
        self._lanes[own_lane : own_lane + 1] = [cause for cause in causes if cause not in self._lanes]
        lanes = " ".join(marks[:_MAX_LANES]) + (" ..." if len(marks) > _MAX_LANES else "")
        return f"{lanes}  {log_line(entry, color=color)}{_causes(entry)}"


def _causes(entry: ReadEntry) -> str:
    """The list of causes if there are several, because the lanes alone would be ambiguous."""
    if len(entry.causes) < 2:
        return ""
    listed = ", ".join(f"{cause}" for cause in entry.causes[:_MAX_CAUSES])
    return f"  <- {listed}" + (", ..." if len(entry.causes) > _MAX_CAUSES else "")
