"""Builds parts of a task's document in the wave plan. The expansion supplies texts and sources of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from forum_runner.compile.project import Project
from forum_runner.model import Budget, Gate, Schema, Task, Text

_BUDGET_FIELDS = ("calls", "input_tokens", "output_tokens", "tokens", "micro_usd", "wall_ms", "output_bytes")
_FLAGS = ("allow_failure", "idempotent", "sensitive", "cache")


def plain_fields(task: Task, project: Project) -> dict[str, Any]:
    """The fields of a task without text, edges and conditions."""
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
        document["retry"] = asdict(task.retry)
    if task.budget is not None:
        document["budget"] = budget_document(task.budget)
    return document


def budget_document(budget: Budget) -> dict[str, int]:
    return present_fields(budget, *_BUDGET_FIELDS)


def present_fields(value: object, *names: str) -> dict[str, Any]:
    """The fields with these names that are not None."""
    fields = ((name, getattr(value, name)) for name in names)
    return {name: content for name, content in fields if content is not None}


def gate_document(gate: Gate, question: list[Any]) -> dict[str, Any]:
    return {"question": question, **present_fields(gate, "on_deadline", "deadline_ms")}


def data_edge(name: str, value: Mapping[str, Any], expects: Iterable[Schema], max_bytes: int | None) -> dict[str, Any]:
    edge: dict[str, Any] = {"edge": "data", "as": name, "from": value}
    digests = sorted({schema.digest for schema in expects})
    if digests:
        edge["expects"] = digests
    if max_bytes is not None:
        edge["max_bytes"] = max_bytes
    return edge


def accept_documents(task: Task, fill: Callable[[Text], list[Any]]) -> list[dict[str, Any]]:
    """The acceptance checks, cheap ones first: schemas, commands, judges, each in the order of the manifest."""
    schemas: list[dict[str, Any]] = [{"schema": check.schema.digest} for check in task.accept if check.schema]
    commands = [{"command": [fill(text) for text in check.command]} for check in task.accept if check.command]
    return schemas + commands + [{"agent": check.agent} for check in task.accept if check.agent]
