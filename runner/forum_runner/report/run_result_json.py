"""What a run came to, as JSON. Everything beyond ASCII is escaped: it may end up on a terminal."""

from __future__ import annotations

import json
from typing import Any

from forum_runner.ledger.read_entry import part, text
from forum_runner.report.decision_reason import read_reasons
from forum_runner.report.run_commands import command_line, gate_lines, verify_line
from forum_runner.report.run_result import OpenGate, RunResult
from forum_runner.report.run_result_text import is_redacted, output_names, output_path
from forum_runner.report.summary_json import summary_form


def render_result_json(result: RunResult) -> str:
    return json.dumps(result_form(result), indent=2) + "\n"


def result_form(result: RunResult) -> dict[str, Any]:
    """The summary's form with what the run directory adds; all tasks are in it, however many there are."""
    summary = summary_form(result.summary, read_reasons(result.directory, result.summary))
    return {
        "apiVersion": "forum/v1",
        "kind": "RunResult",
        "status": result.status,
        "exit_code": result.exit_code,
        "workflow": text(part(result.plan, "metadata"), "name"),
        "directory": str(result.directory),
        "head": result.head or None,
        "verify": verify_line(result.directory, result.head),
        "resume": command_line("resume", result.argument) if result.can_go_on else None,
        "active_ms": result.active_ms,
        "counts": dict(sorted(result.counts.items())),
        "limits": dict(part(part(result.plan, "policy"), "budget")),
        **summary,
        "tasks": [{**form, "failure": _failure_form(result, form["task"])} for form in summary["tasks"]],
        "outputs": [_output_form(result, name) for name in output_names(result)],
        "gates": [_gate_form(result, gate) for gate in result.gates],
    }


def _failure_form(result: RunResult, task: str) -> dict[str, Any] | None:
    failure = result.failures.get(task)
    return {"kind": failure.kind, "detail": failure.detail} if failure is not None else None


def _output_form(result: RunResult, name: str) -> dict[str, Any]:
    body = result.summary.answers.get(name)
    if body is None:
        return {"output": name, "path": None}
    path = None if is_redacted(result, name) else str(output_path(result, name))
    return {"output": name, "path": path, **body}


def _gate_form(result: RunResult, gate: OpenGate) -> dict[str, Any]:
    approve, reject = gate_lines(result.argument, gate.task)
    told = {"task": gate.task, "question": gate.question, "deadline": gate.deadline, "on_deadline": gate.on_deadline}
    return {**told, "approve": approve, "reject": reject}
