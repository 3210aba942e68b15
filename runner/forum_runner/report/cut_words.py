"""Which data tasks were given no more of than `max_bytes` lets a prompt hold."""

from __future__ import annotations

from forum_runner.ledger.summary import Summary
from forum_runner.report.amounts import shown

CUT_TITLE = "cut by max_bytes"


def cut_lines(summary: Summary) -> list[str]:
    """`draft: the first 2,000 of 48,112 bytes of commits`."""
    return [
        f"{shown(story.id, 80)}: the first {cut.kept_bytes:,} of {cut.all_bytes:,} bytes of {shown(cut.name, 80)}"
        for story in summary.tasks.values()
        for cut in story.cuts
    ]
