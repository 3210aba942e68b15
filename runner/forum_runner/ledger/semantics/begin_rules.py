"""What must stand before a task begins: waves, dependencies, expansion, hand-overs, routes and gates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.ledger.semantics.checked_run import CheckedExpansion, CheckedGate, CheckedRun, CheckedUnit
from forum_runner.ledger.semantics.value_rules import has_digest, is_value, read_items
from forum_runner.ledger.semantics.violation import Violation
from forum_runner.wave_plan.planned_task import PlannedTask

Entry = Mapping[str, Any]


def check_may_begin(run: CheckedRun, task: PlannedTask) -> None:
    if run.plan.policy.is_in_waves and task.wave >= run.waves_opened:
        raise Violation("L405", f"the wave of '{task.id}' has not been opened")
    check_ended(run, task.id, task.depends_on)
    check_passed(run, task.id, task.sources)


def check_ready(run: CheckedRun, unit: CheckedUnit) -> None:
    """For the first attempt of a unit, or the result that stands in for one."""
    check_may_begin(run, unit.task)
    due = {edge.name for edge in unit.task.edges}
    if unit.index is not None and unit.task.foreach is not None:
        due.add(unit.task.foreach.name)
    if missing := due - (unit.delivered or set()):
        raise Violation("L406", f"'{sorted(missing)[0]}' was not handed to '{unit.name}' before it began")
    if unit.task.gate is not None and (unit.gate is None or unit.gate.decision != "approved"):
        raise Violation("L414", f"'{unit.name}' began without the approval that its gate asks for")


def check_ended(run: CheckedRun, name: str, tasks: Iterable[str]) -> None:
    for task in tasks:
        if task not in run.ends:
            raise Violation("L403", f"'{name}' comes before '{task}' has ended, which it depends on")


def check_passed(run: CheckedRun, name: str, tasks: Iterable[str]) -> None:
    for task in tasks:
        if run.ends[task].state != "passed":
            raise Violation("L404", f"'{name}' takes a value from '{task}', which ended {run.ends[task].state}")


def check_cause(entry: Entry, seq: int | None, what: str) -> None:
    if seq is not None and seq not in entry["causes"]:
        raise Violation("L426", f"causes does not name entry {seq}, {what}")


def last_end(run: CheckedRun, tasks: Iterable[str]) -> int | None:
    return max((run.ends[task].seq for task in tasks), default=None)


def wave_opened(run: CheckedRun, _seq: int, entry: Entry) -> None:
    wave = entry["data"]["wave"]
    plan = run.plan
    if not plan.policy.is_in_waves or wave != run.waves_opened or wave >= len(plan.waves):
        raise Violation("L405", f"wave {wave} is not the next that could be opened")
    # Earlier waves were looked at when the one after them was opened.
    if wave and (waiting := [task for task in plan.waves[wave - 1] if task not in run.ends]):
        raise Violation("L405", f"wave {wave} is opened before '{waiting[0]}' of the wave before has ended")
    run.waves_opened += 1


def task_expanded(run: CheckedRun, seq: int, entry: Entry) -> None:
    data, items = entry["data"], entry["bodies"]["items"]
    task = run.plan.tasks.get(data["task"])
    if task is None or task.foreach is None:
        raise Violation("L402", f"'{data['task']}' is no task with a foreach")
    if task.id in run.expansions or task.id in run.ends:
        raise Violation("L409", f"'{task.id}' has been expanded or has ended already")
    check_may_begin(run, task)
    count = data["instances"]
    try:
        found = read_items(run, items)
    except ValueError as error:
        raise Violation("L419", f"'{task.id}' cannot be expanded: {error}") from error
    if count > task.foreach.max or (found is not None and len(found) != count):
        raise Violation("L419", f"'{task.id}' cannot have {count} instances")
    if not is_value(run, task.foreach.value, items):
        raise Violation("L419", f"the items of '{task.id}' are not what its foreach takes")
    digests = [sha256(canonical(item)).digest() for item in found] if found is not None else None
    run.expansions[task.id] = CheckedExpansion(seq, count, digests)


def edge_delivered(run: CheckedRun, seq: int, entry: Entry) -> None:
    data, body = entry["data"], entry["bodies"]["value"]
    unit, name = run.unit(data["task"]), data["as"]
    value = unit.delivered_value(name)
    if value is None and name != unit.item_name:
        raise Violation("L402", f"'{unit.name}' has no data edge '{name}'")
    if unit.has_begun or unit.state is not None or name in (unit.delivered or ()):
        raise Violation("L409", f"'{name}' is handed to '{unit.name}' twice, or when it has begun or ended")
    if value is None:
        expansion = run.expansions[unit.task.id]
        check_cause(entry, expansion.seq, f"which expanded '{unit.task.id}'")
        holds = expansion.items is None or has_digest(run, body, expansion.items[unit.index or 0])
    else:
        tasks = list(value.tasks())
        check_ended(run, unit.name, tasks)
        check_passed(run, unit.name, tasks)
        check_cause(entry, last_end(run, tasks), "the end of what the value comes from")
        holds = is_value(run, value, body)
    if not holds:
        raise Violation("L407", f"what is handed to '{unit.name}' as '{name}' is not what its upstream put out")
    unit.delivered = (unit.delivered or set()) | {name}
    unit.delivered_at = seq


def route_decided(run: CheckedRun, _seq: int, entry: Entry) -> None:
    unit, agent = run.unit(entry["data"]["task"]), entry["data"]["agent"]
    if agent not in run.plan.agents:
        raise Violation("L402", f"the wave plan has no agent '{agent}'")
    if unit.task.lane is None or unit.agent is not None or unit.has_begun or unit.state is not None:
        raise Violation("L411", f"'{unit.name}' is not waiting for a route")
    unit.agent = agent


def gate_opened(run: CheckedRun, seq: int, entry: Entry) -> None:
    unit, deadline = run.unit(entry["data"]["task"]), entry["data"].get("deadline")
    gate = unit.task.gate
    if gate is None or unit.gate is not None or unit.has_begun or unit.state is not None:
        raise Violation("L414", f"'{unit.name}' has no gate that could be opened")
    if (deadline is not None) != (gate.deadline_ms is not None):
        raise Violation("L414", f"the gate of '{unit.name}' has a deadline in the plan or here, and not in both")
    unit.gate = CheckedGate(seq, entry["bodies"]["displayed"]["digest"], deadline)


def gate_decided(run: CheckedRun, seq: int, entry: Entry) -> None:
    data = entry["data"]
    unit = run.unit(data["task"])
    gate = unit.gate
    if gate is None or gate.decision is not None:
        raise Violation("L414", f"the gate of '{unit.name}' is not waiting for a decision")
    if data["displayed"] != gate.displayed:
        raise Violation("L414", f"the decision about '{unit.name}' is bound to something else than was displayed")
    is_over = gate.deadline is not None and entry["at"] >= gate.deadline
    if data["by"] == "person" and is_over:
        raise Violation("L414", f"a person decided about '{unit.name}' after the deadline")
    planned = None if unit.task.gate is None else unit.task.gate.deadline_decision
    if data["by"] == "deadline" and (not is_over or data["decision"] != planned):
        raise Violation("L414", f"the deadline of '{unit.name}' is not over, or does not decide so")
    check_cause(entry, gate.seq, "which opened the gate")
    gate.decision, gate.decided_at = data["decision"], seq
