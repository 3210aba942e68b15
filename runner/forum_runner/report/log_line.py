"""An entry as one line of a log. Columns have fixed widths, because each line is printed before the next is read."""

from __future__ import annotations

from forum_runner.ledger.read_entry import SEAL, ReadEntry
from forum_runner.manifest.units import counted
from forum_runner.report.amounts import clip, time_text
from forum_runner.report.entry_text import entry_text
from forum_runner.report.paint import STATE_COLORS, painted
from forum_runner.report.recorded_text import RecordedText

_MAX_NAME = 80


def log_line(entry: ReadEntry, *, color: bool, is_import: bool = False, reason: RecordedText | None = None) -> str:
    """The line of an entry. `reason` is the recorded reason of a gate decision.

    `is_import`: the ledger was imported, so its seal does not say how the work ended.
    """
    time = painted(time_text(entry.at), color, dim=True)
    kind = painted(f"{clip(entry.kind, _MAX_NAME):<17}", color, bold=True)
    task, actor = clip(entry.task or "-", _MAX_NAME), clip(entry.actor, _MAX_NAME)
    state = entry.data.get("state", entry.data.get("status"))
    sentence = "imported" if is_import and entry.kind == SEAL else entry_text(entry)
    sentence += f", {reason.as_reason}" if reason is not None else ""
    sentence = painted(sentence, color, fg=STATE_COLORS.get(state) if isinstance(state, str) else None)
    return f"{entry.seq:>5}  {time}  {kind}  {task:<14}  {actor:<14}  {sentence}".rstrip()


def damaged_line(number: int, length: int, *, color: bool) -> str:
    """The log line for a ledger line that is not an entry. `number` is the seq that an entry there would have."""
    return f"{number:>5}  " + painted(f"not a valid entry ({counted(length, 'byte')})", color, fg="red")
