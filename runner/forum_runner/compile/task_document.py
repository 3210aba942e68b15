"""The parts of a task's wave-plan document that do not depend on where the task is expanded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from forum_runner.compile.project import Project
from forum_runner.model import Accept, Budget, Gate, Retry, Schema, Task

_BUDGET_FIELDS = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "wall_ms", "output_bytes")
_FLAGS = ("allow_failure", "idempotent", "sensitive", "cache")


def plain_fields(task: Task, project: Project) -> dict[str, Any]:
    document: dict[str, Any] = {flag: True for flag in _FLAGS if getattr(task, flag)}
    if task.agent is not None:
        document["agent"] = task.agent
        document["ladder"] = [{"tier": str(tier), "adapter": adapter.name} for tier, adapter in project.ladder(task)]
    else:
        document["lane"] = task.lane
        if task.escalate:
            document["escalate"] = [str(tier) for tier in task.escalate]
    if task.output is not None:
        document["output"] = task.output.digest
    if task.retry is not None:
        document["retry"] = retry_document(task.retry)
    if task.budget is not None:
        document["budget"] = budget_document(task.budget)
    return document


def budget_document(budget: Budget) -> dict[str, int]:
    amounts = ((name, getattr(budget, name)) for name in _BUDGET_FIELDS)
    return {name: amount for name, amount in amounts if amount is not None}


def retry_document(retry: Retry) -> dict[str, int]:
    return {"attempts": retry.attempts, "backoff_ms": retry.backoff_ms, "max_backoff_ms": retry.max_backoff_ms}


def gate_document(gate: Gate, question: list[Any]) -> dict[str, Any]:
    document: dict[str, Any] = {"question": question, "on_deadline": gate.on_deadline}
    if gate.deadline_ms is not None:
        document["deadline_ms"] = gate.deadline_ms
    return document


def data_edge(name: str, value: Mapping[str, Any], expects: Iterable[Schema], max_bytes: int | None) -> dict[str, Any]:
    edge: dict[str, Any] = {"edge": "data", "as": name, "from": value}
    digests = sorted({schema.digest for schema in expects})
    if digests:
        edge["expects"] = digests
    if max_bytes is not None:
        edge["max_bytes"] = max_bytes
    return edge


def accept_documents(task: Task, commands: Mapping[int, list[Any]]) -> list[dict[str, Any]]:
    """Cheap checks first: schemas, then commands, then judges; otherwise in the order of the manifest."""
    return [_accept_document(check, commands[id(check)]) for check in sorted(task.accept, key=_cost)]


def _cost(check: Accept) -> int:
    if check.schema is not None:
        return 0
    return 1 if check.command is not None else 2


def _accept_document(check: Accept, command: list[Any]) -> dict[str, Any]:
    if check.schema is not None:
        return {"schema": check.schema.digest}
    return {"command": command} if check.command is not None else {"agent": check.agent}
