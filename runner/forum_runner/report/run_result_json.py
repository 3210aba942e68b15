"""The result of a run as a JSON document."""

from __future__ import annotations

from typing import Any

from forum_runner.report.next_commands import command_line, gate_commands, verify_command
from forum_runner.report.pending_gate import PendingGate
from forum_runner.report.recorded_text import read_reasons
from forum_runner.report.run_result import RunResult
from forum_runner.report.run_result_text import is_redacted, output_names, output_path
from forum_runner.report.summary_json import summary_document


def result_document(result: RunResult) -> dict[str, Any]:
    """The summary, and facts from the run directory. Lists all tasks, however many there are."""
    summary = summary_document(result.history, read_reasons(result.directory, result.history))
    return {
        "apiVersion": "forum/v1",
        "kind": "RunResult",
        "status": result.status,
        "exit_code": result.exit_code,
        "workflow": result.context.name or None,
        "directory": str(result.directory),
        "head": result.history.head or None,
        "verify": verify_command(result.directory, result.history.head),
        "resume": command_line("resume", result.run_argument) if result.is_resumable else None,
        "active_ms": result.history.active_ms,
        "counts": dict(sorted(result.counts.items())),
        "limits": dict(result.context.limits),
        **summary,
        "tasks": [{**task, "failure": _failure(result, task["task"])} for task in summary["tasks"]],
        "outputs": [_output(result, name) for name in output_names(result)],
        "gates": [_gate(result, gate) for gate in result.gates],
    }


def _failure(result: RunResult, task: str) -> dict[str, Any] | None:
    failure = result.failures.get(task)
    return {"kind": failure.kind, "detail": failure.detail} if failure is not None else None


def _output(result: RunResult, name: str) -> dict[str, Any]:
    body = result.history.outputs.get(name)
    if body is None:
        return {"output": name, "path": None}
    path = None if is_redacted(result, name) else str(output_path(result, name))
    return {"output": name, "path": path, **body}


def _gate(result: RunResult, gate: PendingGate) -> dict[str, Any]:
    approve, reject = gate_commands(result.run_argument, gate.task)
    facts = {"task": gate.task, "question": gate.question, "deadline": gate.deadline, "on_deadline": gate.on_deadline}
    return {**facts, "approve": approve, "reject": reject}
