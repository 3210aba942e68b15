"""The wave plan as a replay sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from forum_runner.canonical import canonical, digest
from forum_runner.errors import CanonicalError
from forum_runner.ledger.json_body import read_json
from forum_runner.ledger.semantics.violation import Violation
from forum_runner.manifest.schema_findings import BASE_URI, own_schema

_NOT_IN_DIGEST = ("bundle", "digest")


class PlannedTask:
    """A task of the plan, with what a replay asks of it over and over."""

    __slots__ = ("accept", "depends_on", "edges", "foreach", "form", "id", "ladder", "sources", "wave")

    def __init__(self, id_: str, form: Mapping[str, Any], wave: int) -> None:
        self.id = id_
        self.form = form
        self.wave = wave
        needs = form.get("needs", ())
        self.foreach: Mapping[str, Any] | None = form.get("foreach")
        self.edges: dict[str, Mapping[str, Any]] = {
            edge["as"]: edge["from"] for edge in needs if edge["edge"] == "data"
        }
        self.accept: list[Mapping[str, Any]] = form.get("accept", [])
        steps = form.get("ladder")
        self.ladder = [(step["tier"], step["adapter"]) for step in steps] if steps else None
        values = [*self.edges.values(), *([self.foreach["from"]] if self.foreach else [])]
        self.sources = frozenset(name for value in values for name in tasks_of(value))
        looked_at = {name for condition in form.get("when", ()) for name in tasks_of(condition["from"])}
        ordered = {edge["task"] for edge in needs if edge["edge"] == "order"}
        self.depends_on = self.sources | looked_at | ordered


class Plan:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.policy: Mapping[str, Any] = document["policy"]
        self.agents: Mapping[str, Any] = document["agents"]
        self.outputs: Mapping[str, Any] = document["outputs"]
        self.waves: list[list[str]] = document["waves"]
        self.is_in_waves: bool = self.policy["dispatch"] == "waves"
        self.max_parallel: int = self.policy["max_parallel"]
        self.tasks = {
            id_: PlannedTask(id_, document["tasks"][id_], number)
            for number, wave in enumerate(self.waves)
            for id_ in wave
        }

    def attempts_allowed(self, task: PlannedTask) -> int:
        retry: Mapping[str, int] = task.form.get("retry", self.policy["retry"])
        return retry["attempts"]

    def ladder(self, task: PlannedTask, agent: str) -> list[tuple[str, str]]:
        """The tiers that a task climbs, each with its adapter."""
        if task.ladder is not None:
            return task.ladder
        adapters = self.agents[agent]["adapters"]
        tiers = [self.agents[agent]["tier"], *task.form.get("escalate", ())]
        return [(tier, adapters[tier]) for tier in tiers if tier in adapters]


def tasks_of(value: Mapping[str, Any]) -> Iterator[str]:
    """The tasks that a value of the plan comes from."""
    return (name for name, _ in _named_in(value))


def _named_in(value: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each task that a value names, and whether its instances are meant."""
    if "task" in value:
        yield value["task"], False
    elif "each" in value:
        yield value["each"], True
    else:
        parts = value["list"] if "list" in value else value["object"].values()
        for part in parts:
            yield from _named_in(part)


def read_plan(data: bytes, facts: Mapping[str, Any]) -> Plan:
    """The plan that the first entry names: its own digest, and the entry's, are those of the bytes."""
    document = _parse(data)
    if document["digest"] != digest(canonical({k: v for k, v in document.items() if k not in _NOT_IN_DIGEST})):
        raise Violation("L401", "the wave plan's digest is not its own")
    if document["digest"] != facts["wave_plan"]:
        raise Violation("L401", "the wave plan is not the one that the first entry names")
    if digest(canonical(document["bundle"])) != facts["bundle"]:
        raise Violation("L401", "the wave plan's bundle is not the one that the first entry names")
    return _checked(document)


def _parse(data: bytes) -> dict[str, Any]:
    try:
        document: dict[str, Any] = read_json(data)
    except (ValueError, RecursionError, CanonicalError) as error:
        raise Violation("L401", f"the wave plan cannot be read: {error}") from error
    for departure in _validator().iter_errors(document):
        raise Violation("L401", f"the wave plan does not fit its schema: {departure.message[:200]}")
    return document


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"$ref": f"{BASE_URI}wave-plan.schema.json"}, retriever=own_schema)


def _checked(document: Mapping[str, Any]) -> Plan:
    """The plan, all names in which are those of something that it has."""
    listed = [id_ for wave in document["waves"] for id_ in wave]
    if sorted(listed) != sorted(document["tasks"]):
        raise Violation("L401", "the wave plan's waves do not hold every task once")
    plan = Plan(document)
    for task in plan.tasks.values():
        _check_task(plan, task, document["adapters"])
    if any(name not in document["adapters"] for agent in plan.agents.values() for name in agent["adapters"].values()):
        raise Violation("L401", "an agent names an adapter that the wave plan does not have")
    for output, value in plan.outputs.items():
        _check_value(plan, f"the output '{output}'", value)
    return plan


def _check_task(plan: Plan, task: PlannedTask, adapters: Mapping[str, Any]) -> None:
    form = task.form
    if {"agent", "ladder", "lane"} & form.keys() not in ({"agent", "ladder"}, {"lane"}):
        raise Violation("L401", f"the task '{task.id}' does not have an agent and a ladder, or a lane")
    named = [form["agent"]] if "agent" in form else []
    named += [check["agent"] for check in task.accept if "agent" in check]
    if any(name not in plan.agents for name in named) or any(name not in adapters for _, name in task.ladder or ()):
        raise Violation("L401", f"the task '{task.id}' names an agent or adapter that the wave plan does not have")
    for name in task.depends_on:
        if name not in plan.tasks or plan.tasks[name].wave >= task.wave:
            raise Violation("L401", f"the task '{task.id}' does not stand after '{name}' in the wave plan")
    conditions = [condition["from"] for condition in form.get("when", ())]
    for value in (*task.edges.values(), *conditions, *([task.foreach["from"]] if task.foreach else [])):
        _check_value(plan, f"the task '{task.id}'", value)


def _check_value(plan: Plan, what: str, value: Mapping[str, Any]) -> None:
    for name, takes_each in _named_in(value):
        if name not in plan.tasks or (plan.tasks[name].foreach is not None) != takes_each:
            raise Violation("L401", f"{what} takes a value from '{name}' that the wave plan does not have")
