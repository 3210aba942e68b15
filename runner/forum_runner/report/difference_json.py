"""Two runs side by side, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from forum_runner.ledger.difference import Difference, Divergence
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.ledger.summary import Summary
from forum_runner.report.difference_text import changed_facts, rows_of
from forum_runner.report.summary_json import summary_form


def render_difference_json(difference: Difference) -> str:
    document = {
        "apiVersion": "forum/v1",
        "kind": "RunDifference",
        "same": difference.is_none,
        "divergence": _divergence_form(difference.divergence),
        "differences": [dict(zip(("of", "what", "a", "b"), row, strict=True)) for row in rows_of(difference)],
        "salted_bodies": difference.salted,
        "a": _run_form(difference.left),
        "b": _run_form(difference.right),
    }
    return json.dumps(document, indent=2) + "\n"


def _divergence_form(divergence: Divergence | None) -> dict[str, Any] | None:
    if divergence is None:
        return None
    return {
        "story": divergence.story,
        "place": divergence.place,
        "a": _entry_form(divergence.left),
        "b": _entry_form(divergence.right),
        "changed": [dict(zip(("fact", "a", "b"), fact, strict=True)) for fact in changed_facts(divergence)],
    }


def _entry_form(entry: ReadEntry | None) -> dict[str, Any] | None:
    return asdict(entry) if entry is not None else None


def _run_form(summary: Summary) -> dict[str, Any]:
    form = summary_form(summary)
    return {name: form[name] for name in ("run", "plan", "end", "entries", "span_ms", "totals", "unreadable_lines")}
