"""Reads the wave plan that the first entry names, and checks that it is consistent."""

from __future__ import annotations

import json
from typing import Any

from forum_runner.canonical import canonical, digest, join_members
from forum_runner.errors import CanonicalError
from forum_runner.ledger.entries import RunOpened
from forum_runner.ledger.verification.report import Violation
from forum_runner.manifest.schema_check import validator
from forum_runner.wave_plan.plan_value import PlanValue
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.wave_plan_reader import WavePlan, read_wave_plan

_NOT_IN_DIGEST = ("bundle", "digest")
# The valid combinations: whether a task has an agent, a ladder, a lane.
_ASSIGNMENTS = ((True, True, False), (False, False, True))


def read_checked_plan(data: bytes, opened: RunOpened) -> WavePlan:
    """Reads a wave plan. Raises a Violation if it is inconsistent or not the one that the first entry names."""
    document, members = _parse(data)
    if document["digest"] != digest(join_members({k: v for k, v in members.items() if k not in _NOT_IN_DIGEST})):
        raise Violation("L401", "the digest in the wave plan is not the digest of the wave plan")
    if document["digest"] != opened.wave_plan:
        raise Violation("L401", "the wave plan is not the one that the first entry names")
    if digest(members["bundle"]) != opened.bundle:
        raise Violation("L401", "the bundle of the wave plan is not the one that the first entry names")
    listed = [id_ for wave in document["waves"] for id_ in wave]
    if sorted(listed) != sorted(document["tasks"]):
        raise Violation("L401", "the waves of the wave plan do not list every task exactly once")
    plan = read_wave_plan(document)
    _check_consistency(plan)
    return plan


def _parse(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The wave plan, and the RFC 8785 bytes of each member: encoding a large plan takes long, so it is done once."""
    try:
        document = json.loads(data)
        members = {name: canonical(value) for name, value in document.items()} if isinstance(document, dict) else {}
        is_canonical = join_members(members) == data
    except (ValueError, RecursionError, CanonicalError) as error:
        raise Violation("L401", f"the wave plan cannot be read: {error}") from error
    if not is_canonical:
        raise Violation("L401", "the wave plan cannot be read: it is not an object in RFC 8785 form")
    for mismatch in validator("wave-plan").iter_errors(document):
        raise Violation("L401", f"the wave plan does not match its schema: {mismatch.message[:200]}")
    return document, members


def _check_consistency(plan: WavePlan) -> None:
    """Checks that the plan contains every task, agent and adapter that it refers to, and that its tasks are valid."""
    for task in plan.tasks.values():
        _check_task(plan, task)
    if any(name not in plan.adapters for agent in plan.agents.values() for name in agent.adapters.values()):
        raise Violation("L401", "an agent names an adapter that the wave plan does not have")
    for output, value in plan.outputs.items():
        _check_value(plan, f"output '{output}'", value)


def _check_task(plan: WavePlan, task: PlannedTask) -> None:
    if (task.agent is not None, bool(task.ladder), task.lane is not None) not in _ASSIGNMENTS:
        raise Violation("L401", f"task '{task.id}' needs either an agent and a ladder, or a lane")
    agents = [name for name in (task.agent, *(check.agent for check in task.checks)) if name is not None]
    has_agents = all(name in plan.agents for name in agents)
    if not has_agents or any(rung.adapter not in plan.adapters for rung in task.ladder):
        raise Violation("L401", f"task '{task.id}' names an agent or adapter that the wave plan does not have")
    for name in task.depends_on:
        if name not in plan.tasks or plan.tasks[name].wave >= task.wave:
            raise Violation("L401", f"task '{task.id}' depends on '{name}', which is not in an earlier wave")
    values = [edge.value for edge in task.edges] + [condition.value for condition in task.conditions]
    for value in (*values, *([task.foreach.value] if task.foreach else [])):
        _check_value(plan, f"task '{task.id}'", value)


def _check_value(plan: WavePlan, what: str, value: PlanValue) -> None:
    for source in value.sources():
        task = plan.tasks.get(source.task)
        if task is None or (task.foreach is not None) != source.is_foreach:
            kind = f"task {'with' if source.is_foreach else 'without'} foreach"
            raise Violation("L401", f"{what} takes a value from '{source.task}', but the plan has no such {kind}")
