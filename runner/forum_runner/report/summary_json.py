"""What happened in a run, as JSON. Everything beyond ASCII is escaped: it may end up on a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from forum_runner.ledger.read_entry import ReadEntry, text
from forum_runner.ledger.summary import Gate, Summary, TaskStory
from forum_runner.ledger.usage import Usage
from forum_runner.report.amounts import between
from forum_runner.report.decision_reason import Reason
from forum_runner.report.summary_text import ending


def render_summary_json(summary: Summary, reasons: Mapping[str, Reason] | None = None) -> str:
    form = {"apiVersion": "forum/v1", "kind": "RunSummary", **summary_form(summary, reasons)}
    return json.dumps(form, indent=2) + "\n"


def summary_form(summary: Summary, reasons: Mapping[str, Reason] | None = None) -> dict[str, Any]:
    """`reasons` are why people decided as they did, by the task."""
    opened, first, last = summary.opened, summary.first, summary.ended
    return {
        "run": first.run if first else None,
        "plan": text(opened.data, "wave_plan") if opened else None,
        "opened": dict(opened.data) if opened else None,
        "first_at": first.at if first else None,
        "last_at": last.at if last else None,
        "span_ms": between(first.at, last.at) if first and last else None,
        "entries": summary.entries,
        "kinds": dict(sorted(summary.kinds.items())),
        "end": {"state": _end_state(summary), "text": ending(summary)},
        "seal": dict(summary.seal.data) if summary.seal else None,
        "totals": usage_form(summary.totals),
        "tasks": [_task_form(story, reasons or {}) for story in summary.tasks.values()],
        "budget": [_entry_form(entry) for entry in summary.budget],
        "redactions": [_entry_form(entry) for entry in summary.redactions],
        "outputs": [{"output": name, **body} for name, body in summary.answers.items()],
        "unreadable_lines": summary.unreadable,
        "first_unreadable": summary.first_unreadable,
        "torn_bytes": summary.torn_bytes,
    }


def usage_form(usage: Usage) -> dict[str, int]:
    return {**asdict(usage), "tokens": usage.tokens}


def _end_state(summary: Summary) -> str:
    if summary.last is None:
        return "empty"
    if summary.is_sealed:
        return "sealed"
    return "paused" if summary.paused is not None else "open"


def _task_form(story: TaskStory, reasons: Mapping[str, Reason]) -> dict[str, Any]:
    return {
        "task": story.id,
        "state": story.state,
        "reason": story.reason,
        "attempts": story.attempts,
        "agent": story.agent,
        "tier": story.tier,
        "adapter": story.adapter,
        "usage": usage_form(story.usage),
        "verdicts": dict(story.verdicts),
        "escalations": [{"from": lower, "to": upper} for lower, upper in story.escalations],
        "gate": _gate_form(story.gate, reasons.get(story.id, Reason())) if story.gate else None,
        "instances": story.instances,
        "reused_from": story.reused_from,
        "output": story.output,
    }


def _gate_form(gate: Gate, reason: Reason) -> dict[str, Any]:
    return {
        "decision": gate.decision,
        "by": gate.by,
        "actor": gate.actor,
        "authenticated": gate.authenticated,
        "edited": gate.is_edited,
        "reason": {"state": reason.state, "text": reason.text} if gate.reason is not None else None,
    }


def _entry_form(entry: ReadEntry) -> dict[str, Any]:
    return {"seq": entry.seq, "kind": entry.kind, **entry.data}
