"""Describes what a resume does with each task of a run."""

from __future__ import annotations

from collections.abc import Iterator

from forum_runner.execute.machine import GateState, RunState, Unit
from forum_runner.wave_plan.planned_task import GateRule

_MAX_LISTED = 5


def describe_resume(state: RunState, now_us: int) -> Iterator[str]:
    """One line for all tasks that passed, and one for each unit of the other tasks that has not passed."""
    passed = [name for name in state.plan.tasks if state.state_of(name) == "passed"]
    if passed:
        rest = len(passed) - _MAX_LISTED
        yield f"kept (already passed): {', '.join(passed[:_MAX_LISTED])}" + (f" and {rest:,} more" if rest > 0 else "")
    for name in state.plan.tasks:
        units = state.expansions[name].units if name in state.expansions else [state.units[name]]
        for unit in units:
            if unit.state != "passed" and state.state_of(name) != "passed":
                yield f"{unit.name}: {_describe_unit(state, unit, now_us)}"


def _describe_unit(state: RunState, unit: Unit, now_us: int) -> str:
    if unit.state is not None:
        return f"kept (already {unit.state})"
    call = unit.call
    if call is not None and call.check is not None:
        return f"retrying check {call.check + 1} of attempt {call.attempt}, which was lost"
    if call is not None or (unit.ending is not None and unit.ending.status == "lost"):
        if unit.task.is_idempotent or state.plan.policy.on_lost == "retry":
            return f"retrying attempt {unit.attempts}, which was lost"
        return f"attempt {unit.attempts} was lost; not retried, because the task is not idempotent"
    if unit.has_begun:
        status = unit.ending.status if unit.ending is not None else "reused"
        return f"continues after attempt {unit.attempts} ({status})"
    if unit.gate is not None and unit.gate.decision is None and unit.task.gate is not None:
        return _describe_gate(unit.gate, unit.task.gate, now_us)
    return "not started" if unit.gate is None or unit.gate.decision is None else f"{unit.gate.decision}, not started"


def _describe_gate(gate: GateState, rule: GateRule, now_us: int) -> str:
    if gate.deadline_us is None or gate.deadline_us > now_us:
        return "waiting for a decision"
    return f"{rule.deadline_decision}: the deadline passed without a decision"
