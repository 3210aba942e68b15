"""The history of a run as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from forum_runner.history.run_history import RunHistory
from forum_runner.history.task_history import RecordedDecision, TaskHistory
from forum_runner.history.usage import UsageTotals
from forum_runner.ledger.read_entry import ReadEntry, get_str
from forum_runner.report.recorded_text import RecordedText
from forum_runner.report.summary_text import end_text


def summary_document(history: RunHistory, reasons: Mapping[str, RecordedText] | None = None) -> dict[str, Any]:
    """The history as a document. `reasons` has the reasons of gate decisions, by task."""
    opened, first, last = history.opened, history.first, history.end
    return {
        "run": first.run if first else None,
        "plan": get_str(opened.data, "wave_plan") if opened else None,
        "opened": dict(opened.data) if opened else None,
        "first_at": first.at if first else None,
        "last_at": last.at if last else None,
        "span_ms": history.elapsed_ms,
        "entries": history.entries,
        "kinds": dict(sorted(history.kinds.items())),
        "end": {"state": _end_state(history), "text": end_text(history)},
        "seal": dict(history.seal.data) if history.seal else None,
        "totals": _usage(history.usage),
        "tasks": [_task(task, reasons or {}) for task in history.tasks.values()],
        "budget": [_entry(entry) for entry in history.budget],
        "redactions": [_entry(entry) for entry in history.redactions],
        "outputs": [{"output": name, **body} for name, body in history.outputs.items()],
        "unreadable_lines": history.unreadable,
        "first_unreadable": history.first_unreadable,
        "torn_bytes": history.torn_bytes,
    }


def _usage(usage: UsageTotals) -> dict[str, int]:
    return {**asdict(usage), "tokens": usage.tokens}


def _end_state(history: RunHistory) -> str:
    if history.last is None:
        return "empty"
    if history.is_sealed:
        return "sealed"
    return "paused" if history.pause_reason is not None else "open"


def _task(task: TaskHistory, reasons: Mapping[str, RecordedText]) -> dict[str, Any]:
    return {
        "task": task.id,
        "state": task.state,
        "reason": task.reason,
        "attempts": task.attempts,
        "agent": task.agent,
        "tier": task.tier,
        "adapter": task.adapter,
        "usage": _usage(task.usage),
        "verdicts": dict(task.verdicts),
        "escalations": [{"from": lower, "to": upper} for lower, upper in task.escalations],
        "gate": _gate(task.gate.decision, reasons.get(task.id, RecordedText())) if task.gate else None,
        "instances": task.instances,
        "reused_from": task.reused_from,
        "output": task.output,
    }


def _gate(decision: RecordedDecision | None, reason: RecordedText) -> dict[str, Any]:
    """The members of a gate. A gate that is still open has no decision."""
    return {
        "decision": decision.decision if decision else None,
        "by": decision.by if decision else None,
        "actor": decision.actor if decision else None,
        "authenticated": decision is not None and decision.is_authenticated,
        "edited": decision is not None and decision.is_edited,
        "reason": {"state": reason.state, "text": reason.text} if decision and decision.reason is not None else None,
    }


def _entry(entry: ReadEntry) -> dict[str, Any]:
    return {"seq": entry.seq, "kind": entry.kind, **entry.data}
