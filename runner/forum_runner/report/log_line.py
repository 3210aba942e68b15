"""An entry as one line for a person. Widths are fixed: lines are printed before the next one is known."""

from __future__ import annotations

from forum_runner.ledger.read_entry import SEAL, ReadEntry
from forum_runner.report.amounts import moment, shown
from forum_runner.report.decision_reason import Reason
from forum_runner.report.facts import facts
from forum_runner.report.paint import STATE_COLORS, painted

_MAX_NAME = 80


def log_line(entry: ReadEntry, *, color: bool, is_import: bool = False, reason: Reason | None = None) -> str:
    """`is_import` says that the ledger was imported: its seal's status is not how the work ended.

    `reason` is why somebody decided: an entry only names it.
    """
    time = painted(moment(entry.at), color, dim=True)
    kind = painted(f"{shown(entry.kind, _MAX_NAME):<17}", color, bold=True)
    task, actor = shown(entry.task or "-", _MAX_NAME), shown(entry.actor, _MAX_NAME)
    state = entry.data.get("state", entry.data.get("status"))
    words = "imported" if is_import and entry.kind == SEAL else facts(entry)
    words += f", {reason.words}" if reason is not None else ""
    told = painted(words, color, fg=STATE_COLORS.get(state) if isinstance(state, str) else None)
    return f"{entry.seq:>5}  {time}  {kind}  {task:<14}  {actor:<14}  {told}".rstrip()


def damaged_line(number: int, length: int, *, color: bool) -> str:
    """A line that is no entry stands under the seq that it would have."""
    return f"{number:>5}  " + painted(f"not an entry: {length:,} bytes", color, fg="red")
