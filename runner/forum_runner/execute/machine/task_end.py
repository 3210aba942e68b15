"""Ends tasks, and records the run's answers."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from forum_runner.canonical import canonical
from forum_runner.execute.machine.budgets import WALL, Shortage
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.task_output import make_body
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.body import JSON, Body
from forum_runner.wave_plan.plan_value import NoValueError
from forum_runner.wave_plan.planned_task import PlannedTask


def stop(core: MachineCore, unit: Unit, shortage: Shortage) -> None:
    """Ends a unit whose next call does not fit a budget."""
    account = shortage.account
    used = account.charged[shortage.amount] + account.held[shortage.amount]
    if account.scope == "run" and shortage.amount == WALL:
        used = core.state.active_ms(core.state.now_us)
    causes = [] if unit.closed is None else [unit.closed]
    core.record("budget.stopped", structs.replace(shortage, used=used).facts(), causes=causes)
    end(core, unit, "stopped", "budget")


def stop_at_wall(core: MachineCore) -> None:
    """Stops a run that is out of time: cancels open calls, and ends the units that wait."""
    limit = core.wall_ms or 0
    used = core.state.active_ms(core.state.now_us)
    core.record("budget.stopped", {"scope": "run", "amount": "wall_ms", "limit": limit, "used": used, "needed": 0})
    core.cancel_all()
    for unit in (*core.begun, *core.short, *core.waiting()):
        if unit.state is None and unit.call is None and unit.has_begun:
            end(core, unit, "stopped", "budget")


def fail(core: MachineCore, unit: Unit, reason: str, message: str | None = None) -> None:
    end(core, unit, "tolerated" if unit.task.allows_failure else "failed", reason, message)


def end(core: MachineCore, unit: Unit, state: str, reason: str | None, message: str | None = None) -> None:
    data = {"task": unit.name, "state": state}
    if reason is not None:
        data["reason"] = reason
    bodies = {} if message is None else {"detail": Body(canonical({"message": message}), JSON, unit.is_sensitive)}
    last = unit.closed if unit.closed is not None else unit.cause
    causes = [] if last is None else [last]
    if unit.gate is not None and unit.gate.decided_seq is not None and not unit.has_begun:
        causes = sorted({*causes, unit.gate.decided_seq})
    core.record("task.ended", data, bodies, causes)
    if unit.index is not None:
        end_template(core, unit.task)


def end_template(core: MachineCore, task: PlannedTask) -> None:
    """Ends a task with a `foreach` after its last instance."""
    expansion = core.state.expansions[task.id]
    template = core.state.units[task.id]
    if expansion.open or template.state is not None:
        return
    states = {unit.state for unit in expansion.units}
    last = max((unit.ended or 0 for unit in expansion.units), default=expansion.seq)
    data: dict[str, Any] = {"task": task.id}
    if states == {"tolerated"}:
        data |= {"state": "tolerated", "reason": "error"}
    elif states <= {"passed", "tolerated"}:
        data["state"] = "passed"
    elif "failed" in states:
        data |= {"state": "failed", "reason": "error"}
    elif "stopped" in states:
        data |= {"state": "stopped", "reason": "budget"}
    elif "refused" in states:
        data |= {"state": "refused", "reason": "rejected"}
    elif states == {"skipped"}:
        data |= {"state": "skipped", "reason": "failure"}
    else:
        data |= {"state": "cancelled", "reason": "failure"}
    core.record("task.ended", data, causes=[last])


def answer(core: MachineCore, name: str) -> None:
    """Records one of the plan's named outputs, if all its sources passed."""
    value = core.plan.outputs[name]
    sources = [core.state.units[task] for task in value.tasks()]
    if any(unit.state != "passed" for unit in sources):
        return
    try:
        body = make_body(value, core.state)
    except NoValueError:
        return
    last = max((unit.ended or 0 for unit in sources), default=0)
    core.record("answer.given", {"output": name}, {"value": body}, [last])
