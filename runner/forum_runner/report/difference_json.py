"""The difference between two runs as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from forum_runner.history.difference import RunDifference, RunDivergence
from forum_runner.history.run_history import RunHistory
from forum_runner.ledger.read_entry import ReadEntry
from forum_runner.report.difference_text import changed_facts, difference_rows
from forum_runner.report.summary_json import summary_document


def difference_document(difference: RunDifference) -> dict[str, Any]:
    return {
        "apiVersion": "forum/v1",
        "kind": "RunDifference",
        "same": difference.is_empty,
        "divergence": _divergence(difference.divergence),
        "differences": [dict(zip(("of", "what", "a", "b"), row, strict=True)) for row in difference_rows(difference)],
        "salted_bodies": difference.salted,
        "a": _run(difference.left),
        "b": _run(difference.right),
    }


def _divergence(divergence: RunDivergence | None) -> dict[str, Any] | None:
    if divergence is None:
        return None
    return {
        "subject": divergence.subject,
        "index": divergence.index,
        "a": _entry(divergence.left),
        "b": _entry(divergence.right),
        "changed": [dict(zip(("fact", "a", "b"), fact, strict=True)) for fact in changed_facts(divergence)],
    }


def _entry(entry: ReadEntry | None) -> dict[str, Any] | None:
    return asdict(entry) if entry is not None else None


def _run(history: RunHistory) -> dict[str, Any]:
    document = summary_document(history)
    return {name: document[name] for name in ("run", "plan", "end", "entries", "span_ms", "totals", "unreadable_lines")}
