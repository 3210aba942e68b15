"""Rules for everything before a task's first attempt: waves, dependencies, expansion, deliveries, routes and gates."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from forum_runner.canonical import canonical
from forum_runner.ledger.entries import (
    AnyEntry,
    EdgeDelivered,
    Entry,
    GateDecided,
    GateOpened,
    RouteDecided,
    TaskExpanded,
    WaveOpened,
)
from forum_runner.ledger.semantics.checked_run import CheckedExpansion, CheckedGate, CheckedRun, CheckedUnit
from forum_runner.ledger.semantics.value_rules import has_digest, is_value, read_items
from forum_runner.ledger.verification.report import Violation
from forum_runner.wave_plan.planned_task import PlannedTask


def check_may_begin(run: CheckedRun, task: PlannedTask) -> None:
    if run.plan.policy.uses_waves and task.wave >= run.waves_opened:
        raise Violation("L405", f"'{task.id}' starts before its wave is opened")
    check_ended(run, task.id, task.depends_on)
    check_passed(run, task.id, task.sources)


def check_ready(run: CheckedRun, unit: CheckedUnit) -> None:
    """Checks the conditions for a unit's first attempt, or for a reused result in place of one."""
    check_may_begin(run, unit.task)
    due_names = {edge.name for edge in unit.task.edges}
    if unit.item_name is not None:
        due_names.add(unit.item_name)
    if missing := due_names - (unit.delivered or set()):
        raise Violation("L406", f"'{unit.name}' starts before '{min(missing)}' is delivered to it")
    if unit.task.gate is not None and (unit.gate is None or unit.gate.decision != "approved"):
        raise Violation("L414", f"'{unit.name}' starts before its gate is approved")


def check_ended(run: CheckedRun, name: str, tasks: Iterable[str]) -> None:
    for task in tasks:
        if task not in run.ends:
            raise Violation("L403", f"'{name}' depends on '{task}', which has not ended")


def check_passed(run: CheckedRun, name: str, tasks: Iterable[str]) -> None:
    for task in tasks:
        if run.ends[task].state != "passed":
            raise Violation("L404", f"'{name}' takes a value from '{task}', which ended {run.ends[task].state}")


def check_cause(entry: AnyEntry, seq: int | None, what: str) -> None:
    """Checks that the causes of an entry include entry `seq`, which `what` describes. None needs no cause."""
    if seq is not None and seq not in entry.causes:
        raise Violation("L426", f"causes does not include entry {seq}, {what}")


def last_end(run: CheckedRun, tasks: Iterable[str]) -> int | None:
    """The seq of the entry that ended the last of these tasks; None if there are no tasks."""
    return max((run.ends[task].seq for task in tasks), default=None)


def wave_opened(run: CheckedRun, entry: Entry[WaveOpened]) -> None:
    wave, plan = entry.data.wave, run.plan
    if not plan.policy.uses_waves or wave != run.waves_opened or wave >= len(plan.waves):
        raise Violation("L405", f"wave {wave} is not the next wave")
    # Earlier waves were checked when the wave after them was opened.
    if wave and (open_tasks := [task for task in plan.waves[wave - 1] if task not in run.ends]):
        raise Violation("L405", f"wave {wave} is opened before '{open_tasks[0]}' in wave {wave - 1} has ended")
    run.waves_opened += 1


def task_expanded(run: CheckedRun, entry: Entry[TaskExpanded]) -> None:
    name, count, items = entry.data.task, entry.data.instances, entry.bodies["items"]
    task = run.plan.tasks.get(name)
    if task is None or task.foreach is None:
        raise Violation("L402", f"the plan has no foreach task '{name}'")
    if name in run.expansions or name in run.ends:
        raise Violation("L409", f"'{name}' is already expanded or has ended")
    check_may_begin(run, task)
    try:
        values = read_items(run, items)
    except ValueError as error:
        raise Violation("L419", f"'{name}' cannot be expanded: {error}") from error
    if count > task.foreach.max:
        raise Violation("L419", f"'{name}' has {count} instances, more than its maximum of {task.foreach.max}")
    if values is not None and len(values) != count:
        raise Violation("L419", f"'{name}' has {count} instances, but {len(values)} items")
    if not is_value(run, task.foreach.value, items):
        raise Violation("L419", f"the items of '{name}' are not the value that its foreach selects")
    digests = [sha256(canonical(value)).digest() for value in values] if values is not None else None
    run.expansions[name] = CheckedExpansion(entry.seq, count, digests)


def edge_delivered(run: CheckedRun, entry: Entry[EdgeDelivered]) -> None:
    unit, name, body = run.unit(entry.data.task), entry.data.as_, entry.bodies["value"]
    value = unit.delivered_value(name)
    if value is None and name != unit.item_name:
        raise Violation("L402", f"'{unit.name}' has no data edge '{name}'")
    if unit.has_begun or unit.state is not None or (unit.delivered and name in unit.delivered):
        raise Violation("L409", f"'{name}' is delivered to '{unit.name}' twice, or after the unit started or ended")
    if value is None:
        expansion = run.expansions[unit.task.id]
        check_cause(entry, expansion.seq, f"which expanded '{unit.task.id}'")
        is_expected = expansion.items is None or has_digest(run, body, expansion.items[unit.index or 0])
    else:
        tasks = list(value.tasks())
        check_ended(run, unit.name, tasks)
        check_passed(run, unit.name, tasks)
        check_cause(entry, last_end(run, tasks), "the end of the task that the value comes from")
        is_expected = is_value(run, value, body)
    if not is_expected:
        raise Violation("L407", f"the value delivered to '{unit.name}' as '{name}' is not the value of its source")
    unit.delivered = unit.delivered or set()
    unit.delivered.add(name)
    unit.delivered_seq = entry.seq


def route_decided(run: CheckedRun, entry: Entry[RouteDecided]) -> None:
    unit, agent = run.unit(entry.data.task), entry.data.agent
    if agent not in run.plan.agents:
        raise Violation("L402", f"the wave plan has no agent '{agent}'")
    if unit.task.lane is None or unit.agent is not None or unit.has_begun or unit.state is not None:
        raise Violation("L411", f"'{unit.name}' is not waiting for a route")
    unit.agent = agent


def gate_opened(run: CheckedRun, entry: Entry[GateOpened]) -> None:
    unit, deadline = run.unit(entry.data.task), entry.data.deadline
    gate = unit.task.gate
    if gate is None or unit.gate is not None or unit.has_begun or unit.state is not None:
        raise Violation("L414", f"'{unit.name}' has no gate that can be opened")
    if (deadline is not None) != (gate.deadline_ms is not None):
        raise Violation("L414", f"only one of the plan and this entry gives the gate of '{unit.name}' a deadline")
    unit.gate = CheckedGate(entry.seq, entry.bodies["displayed"].digest, deadline)


def gate_decided(run: CheckedRun, entry: Entry[GateDecided]) -> None:
    data = entry.data
    unit = run.unit(data.task)
    gate = unit.gate
    if gate is None or gate.decision is not None:
        raise Violation("L414", f"the gate of '{unit.name}' is not waiting for a decision")
    if data.displayed != gate.displayed:
        raise Violation("L414", f"the decision about '{unit.name}' is not about the content that its gate displayed")
    is_past_deadline = gate.deadline is not None and entry.at >= gate.deadline
    if data.by == "person" and is_past_deadline:
        raise Violation("L414", f"a person decided the gate of '{unit.name}' after its deadline")
    planned = None if unit.task.gate is None else unit.task.gate.deadline_decision
    if data.by == "deadline" and not is_past_deadline:
        sentence = f"the gate of '{unit.name}' was decided by deadline, but its deadline had not passed or it has none"
        raise Violation("L414", sentence)
    if data.by == "deadline" and data.decision != planned:
        raise Violation("L414", f"at its deadline, the gate of '{unit.name}' must be {planned}")
    check_cause(entry, gate.seq, "which opened the gate")
    gate.decision, gate.decided_seq = data.decision, entry.seq
