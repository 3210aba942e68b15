"""Ends tasks, and records the run's answers."""

from __future__ import annotations

from msgspec import structs

from forum_runner.canonical import canonical
from forum_runner.execute.machine.budgets import WALL, Shortage
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.task_output import make_body
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.body import JSON, Body
from forum_runner.wave_plan.plan_value import NoValueError
from forum_runner.wave_plan.planned_task import PlannedTask

# The states of instances that decide the state of their task, the worst first, each with the reason of the task.
_WORST_STATES = {"failed": "error", "stopped": "budget", "refused": "rejected"}


def stop(core: MachineCore, unit: Unit, shortage: Shortage) -> None:
    """Ends a unit whose next call does not fit a budget, or whose last call was cut short by one."""
    account = shortage.account
    used = account.charged[shortage.resource] + account.held[shortage.resource]
    if account.scope == "run" and shortage.resource == WALL:
        used = core.state.active_ms(core.state.now_us)
    core.record("budget.stopped", structs.replace(shortage, used=used).entry_data(), causes=unit.causes_after_attempt)
    end(core, unit, "stopped", "budget")


def stop_out_of_time(core: MachineCore) -> None:
    """Stops a run that is out of time: cancels open calls, and ends the units that have begun and wait."""
    limit = core.wall_ms or 0
    used = core.state.active_ms(core.state.now_us)
    core.record("budget.stopped", {"scope": "run", "amount": "wall_ms", "limit": limit, "used": used, "needed": 0})
    core.cancel_all()
    for unit in (*core.begun_queue, *core.waiting_for_budget, *core.waiting_units()):
        if unit.state is None and unit.call is None and unit.has_begun:
            end(core, unit, "stopped", "budget")


def fail(core: MachineCore, unit: Unit, reason: str, message: str | None = None) -> None:
    end(core, unit, "tolerated" if unit.task.allows_failure else "failed", reason, message)


def end(core: MachineCore, unit: Unit, state: str, reason: str | None, message: str | None = None) -> None:
    data = {"task": unit.name, "state": state}
    if reason is not None:
        data["reason"] = reason
    bodies = {} if message is None else {"detail": Body(canonical({"message": message}), JSON, unit.is_sensitive)}
    last_seq = unit.closed_seq if unit.closed_seq is not None else unit.cause_seq
    causes = [] if last_seq is None else [last_seq]
    if unit.gate is not None and unit.gate.decided_seq is not None and not unit.has_begun:
        causes = sorted({*causes, unit.gate.decided_seq})
    core.record("task.ended", data, bodies, causes)
    if unit.index is not None:
        end_template(core, unit.task)


def end_template(core: MachineCore, task: PlannedTask) -> None:
    """Ends a task with a `foreach`, once its last instance has ended."""
    expansion = core.state.expansions[task.id]
    template = core.state.units[task.id]
    if expansion.open or template.state is not None:
        return
    states = {unit.state for unit in expansion.units}
    last_seq = max((unit.ended_seq or 0 for unit in expansion.units), default=expansion.seq)
    data = {"task": task.id, "state": "passed"}
    if states == {"tolerated"}:
        data |= {"state": "tolerated", "reason": "error"}
    elif not states <= {"passed", "tolerated"}:
        otherwise = "skipped" if states == {"skipped"} else "cancelled"
        state = next((state for state in _WORST_STATES if state in states), otherwise)
        data |= {"state": state, "reason": _WORST_STATES.get(state, "failure")}
    core.record("task.ended", data, causes=[last_seq])


def record_answer(core: MachineCore, name: str) -> None:
    """Records one of the plan's named outputs, if all its sources passed and its value exists."""
    value = core.plan.outputs[name]
    sources = [core.state.units[task] for task in value.tasks()]
    if any(unit.state != "passed" for unit in sources):
        return
    try:
        body = make_body(value, core.state)
    except NoValueError:
        return
    last_seq = max((unit.ended_seq or 0 for unit in sources), default=0)
    core.record("answer.given", {"output": name}, {"value": body}, [last_seq])
