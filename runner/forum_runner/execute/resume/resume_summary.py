"""What a run that is taken up again makes of each of its tasks, in words."""

from __future__ import annotations

from collections.abc import Iterator

from forum_runner.execute.machine import Gate, RunState, Unit
from forum_runner.wave_plan.planned_task import GateRule


def taken_up(state: RunState, now_us: int) -> Iterator[str]:
    """A sentence for each task that goes on or is kept for another reason than that it passed; those in one."""
    passed = [name for name in state.plan.tasks if state.state_of(name) == "passed"]
    if passed:
        listed = ", ".join(passed[:5]) + (f" and {len(passed) - 5:,} more" if len(passed) > 5 else "")
        yield f"kept, as they passed: {listed}"
    for name in state.plan.tasks:
        units = state.expansions[name].units if name in state.expansions else [state.units[name]]
        for unit in units:
            if unit.state != "passed" and state.state_of(name) != "passed":
                yield f"{unit.name}: {_fate(state, unit, now_us)}"


def _fate(state: RunState, unit: Unit, now_us: int) -> str:
    if unit.state is not None:
        return f"kept, as it was {unit.state}"
    call = unit.call
    if call is not None and call.check is not None:
        return f"check {call.check + 1} of attempt {call.attempt} was lost, and is made again"
    if call is not None or (unit.ending is not None and unit.ending.status == "lost"):
        may_repeat = unit.task.is_idempotent or state.plan.policy.on_lost == "retry"
        again = "is made again" if may_repeat else "is not made again, as the task is not idempotent"
        return f"attempt {unit.attempts} was lost, and {again}"
    if unit.has_begun:
        how = unit.ending.status if unit.ending is not None else "reused"
        return f"goes on after attempt {unit.attempts} ({how})"
    if unit.gate is not None and unit.gate.decision is None and unit.task.gate is not None:
        return _fate_at_gate(unit.gate, unit.task.gate, now_us)
    return "is still to begin"


def _fate_at_gate(gate: Gate, rule: GateRule, now_us: int) -> str:
    if gate.deadline_us is None or gate.deadline_us > now_us:
        return "waits for a decision"
    return f"is {rule.deadline_decision}, as nobody decided before its deadline"
