"""Starts tasks, or ends them before they start: conditions, expansion, delivery, routing, gates, reuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.execute.machine import call_result, task_end
from forum_runner.execute.machine.call_prompt import render_attempt
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.events import Decided
from forum_runner.execute.machine.program_call import reads_json
from forum_runner.execute.machine.prompt_renderer import prompt_document
from forum_runner.execute.machine.routing import route
from forum_runner.execute.machine.task_output import Output, make_body
from forum_runner.execute.machine.unit import GateState, Unit
from forum_runner.ledger.body import JSON, TEXT, Body
from forum_runner.ledger.clock import format_time
from forum_runner.ledger.recorded_body import RedactedBodyError
from forum_runner.wave_plan.plan_value import NoValueError
from forum_runner.wave_plan.planned_task import DataEdge, ForeachRule, GateRule, PlannedTask


def arrive(core: MachineCore, task: PlannedTask) -> None:
    """Handles a task whose dependencies have all ended and whose wave, if there are waves, is open."""
    state = core.state
    unit = state.units[task.id]
    if unit.state is not None:
        return
    if state.is_stopping or is_blocked(core, task):
        end_unstarted(core, unit)
    elif task.conditions and not _condition_holds(core, unit):
        task_end.end(core, unit, "skipped", "condition")
    elif task.foreach is not None:
        _expand(core, unit, task.foreach)
    else:
        admit(core, unit)


def admit(core: MachineCore, unit: Unit) -> None:
    """Opens the unit's gate at once; a unit without a gate or with a rejected one waits for its turn in the queue."""
    rule = unit.task.gate
    if rule is None or (unit.gate is not None and unit.gate.decision == "rejected"):
        core.fresh_queue.append(unit)
    elif prepare(core, unit):
        _open_gate(core, unit, rule)


def resume_task(core: MachineCore, task: PlannedTask) -> None:
    """Resumes a task that had arrived when an earlier process ended."""
    unit, expansion = core.state.units[task.id], core.state.expansions.get(task.id)
    if expansion is not None:
        for instance in expansion.units:
            if instance.state is None:
                _resume_unit(core, instance)
        task_end.end_template(core, task)
    elif unit.has_begun or unit.delivered or unit.gate is not None:
        _resume_unit(core, unit)
    else:
        arrive(core, task)


def _resume_unit(core: MachineCore, unit: Unit) -> None:
    if unit.has_begun:
        call_result.proceed(core, unit)
    else:
        admit(core, unit)


def is_blocked(core: MachineCore, task: PlannedTask) -> bool:
    """Whether a dependency ended in a state after which the task cannot or must not start."""
    state = core.state
    if task.sources and any(state.state_of(name) not in (None, "passed") for name in task.sources):
        return True
    return not state.order_blockers.isdisjoint(task.depends_on)


def _condition_holds(core: MachineCore, unit: Unit) -> bool:
    for condition in unit.task.conditions:
        try:
            value = condition.value.evaluate(core.state)
        except (NoValueError, RedactedBodyError):
            return False
        if not core.schemas.fits(condition.schema, value):
            return False
    return True


def _expand(core: MachineCore, unit: Unit, foreach: ForeachRule) -> None:
    try:
        items = make_body(foreach.value, core.state)
    except NoValueError as error:
        task_end.fail(core, unit, "expects", f"the items are unavailable: {error}")
        return
    values = Output(items).value
    if not isinstance(values, list):
        task_end.fail(core, unit, "expects", "the items are not a list")
        return
    if len(values) > foreach.max:
        task_end.fail(core, unit, "expects", f"there are {len(values)} items, but `max` is {foreach.max}")
        return
    if unit.is_sensitive:
        items = items._replace(is_sensitive=True)
    data = {"task": unit.name, "instances": len(values)}
    core.record("task.expanded", data, {"items": items}, _causes(unit.cause_seq))
    for instance in core.state.expansions[unit.name].units:
        admit(core, instance)
    task_end.end_template(core, unit.task)


def prepare(core: MachineCore, unit: Unit) -> bool:
    """Delivers the data and routes the unit. Returns False if the unit cannot start and has therefore ended."""
    task = unit.task
    if (unit.delivered or unit.gate is not None) and not call_result.can_read_bodies(core, unit):
        return False
    if (task.edges or task.foreach is not None) and not _deliver(core, unit):
        return False
    if unit.agent is None:
        chosen = route(core.plan, task)
        scores = Body(canonical(chosen.scores), JSON)
        core.record("route.decided", {"task": unit.name, "agent": chosen.agent, "by": chosen.by}, {"scores": scores})
    return True


def _deliver(core: MachineCore, unit: Unit) -> bool:
    """Delivers all values. Returns False if one is unavailable or invalid, and the unit has therefore ended."""
    task = unit.task
    name = ""
    try:
        for edge in task.edges:
            name = edge.name
            if name not in unit.delivered and not _deliver_value(core, unit, edge):
                return False
            _record_cut(core, unit, edge)
        if task.foreach is not None and unit.index is not None and task.foreach.name not in unit.delivered:
            name, expansion = task.foreach.name, core.state.expansions[task.id]
            item = Body(canonical(expansion.items.value[unit.index]), JSON, expansion.items.body.is_sensitive)
            _record_delivery(core, unit, name, item, expansion.seq)
    except (NoValueError, RedactedBodyError) as error:
        task_end.fail(core, unit, "expects", f"the value for '{name}' is unavailable: {error}")
        return False
    return True


def _deliver_value(core: MachineCore, unit: Unit, edge: DataEdge) -> bool:
    value = make_body(edge.value, core.state)
    for digest in edge.expects:
        mismatch = core.schemas.mismatch(digest, Output(value).value)
        if mismatch is not None:
            task_end.fail(core, unit, "expects", f"the value for '{edge.name}' does not match `expects`: {mismatch}")
            return False
    last_ended_seq = max(core.state.units[name].ended_seq or 0 for name in edge.value.tasks())
    _record_delivery(core, unit, edge.name, value, last_ended_seq)
    return True


def _record_cut(core: MachineCore, unit: Unit, edge: DataEdge) -> None:
    """Records how much of a long value a prompt gets, unless an earlier process did, or programs get it whole."""
    delivered = unit.delivered[edge.name]
    if edge.max_bytes is None or delivered.kept_bytes is not None:
        return
    if reads_json([core.plan.adapters[rung.adapter] for rung in unit.ladder]):
        return
    size = len(delivered.text_bytes())
    if size <= edge.max_bytes:
        return
    kept_bytes = len(delivered._replace(kept_bytes=edge.max_bytes).prompt_bytes())
    data = {"task": unit.name, "as": edge.name, "bytes": size, "kept_bytes": kept_bytes}
    core.record("context.cut", data, causes=_causes(unit.delivered_seq))


def _record_delivery(core: MachineCore, unit: Unit, name: str, value: Body, cause: int) -> None:
    if unit.is_sensitive and not value.is_sensitive:
        value = value._replace(is_sensitive=True)
    core.record("edge.delivered", {"task": unit.name, "as": name}, {"value": value}, [cause])


def _open_gate(core: MachineCore, unit: Unit, rule: GateRule) -> None:
    if unit.gate is None:
        data = {"task": unit.name}
        if rule.deadline_ms is not None:
            data["deadline"] = format_time(core.state.now_us + rule.deadline_ms * 1_000)
        displayed = Body(canonical(_gate_document(core, unit, rule)), JSON, unit.is_sensitive)
        core.record("gate.opened", data, {"displayed": displayed}, _causes(unit.delivered_seq, unit.cause_seq))
    gate = unit.gate
    if gate is not None and gate.decision is not None:
        core.fresh_queue.append(unit)
    elif gate is not None and gate.deadline_us is not None:
        core.wait(unit, gate.deadline_us)


def _gate_document(core: MachineCore, unit: Unit, rule: GateRule) -> dict[str, Any]:
    """The document that a person sees at the gate: the question, and the call to be made."""
    question = core.public_renderer.text(rule.question, unit.delivered, inline=True)
    prompt = render_attempt(core, core.public_renderer, unit)
    return {"task": unit.name, "agent": unit.agent, "question": question, **prompt_document(prompt)}


def pass_deadline(core: MachineCore, unit: Unit) -> None:
    """Decides a gate whose deadline has passed, as the plan defines."""
    if unit.gate is not None and unit.task.gate is not None:
        _record_decision(core, unit, unit.gate, unit.task.gate.deadline_decision, "deadline", {}, "runner")


def take_decision(core: MachineCore, event: Decided) -> None:
    """Records a person's decision. Ignores it if no such gate is open, or if it is about a different document."""
    unit = core.state.units.get(event.task)
    gate = unit.gate if unit is not None and unit.is_undecided else None
    if unit is None or gate is None or gate.displayed != event.displayed:
        return
    bodies = {name: Body(text, TEXT, unit.is_sensitive) for name, text in event.texts.items()}
    _record_decision(core, unit, gate, event.decision, "person", bodies, event.actor)
    # Cancels the timer of the deadline.
    unit.resumes_us = None
    core.fresh_queue.append(unit)


def _record_decision(
    core: MachineCore, unit: Unit, gate: GateState, decision: str, by: str, bodies: Mapping[str, Body], actor: str
) -> None:
    data = {"task": unit.name, "decision": decision, "by": by, "authenticated": False, "displayed": gate.displayed}
    core.record("gate.decided", data, bodies, [gate.seq], actor)


def reuse(core: MachineCore, unit: Unit, fingerprint: str) -> bool:
    """Reuses the result of an earlier run instead of making an attempt. Returns False if there is no usable result."""
    found = core.context.find_reusable(unit, fingerprint)
    try:
        if found is None or call_result.missing_for_outputs(core.plan, unit.task.id, Output(found.output)) is not None:
            return False
        output = Body(found.output.data, found.output.type, unit.is_sensitive)
    except RedactedBodyError:
        return False
    data = {"task": unit.name, "fingerprint": fingerprint, "source": found.source, "run": found.run, "seq": found.seq}
    core.record("task.reused", data, {"output": output}, _causes(unit.delivered_seq, unit.cause_seq))
    call_result.proceed(core, unit)
    return True


def end_all_unstarted(core: MachineCore) -> None:
    """Ends every unit that has not started, because the run is stopping."""
    for task in core.plan.tasks.values():
        unit = core.state.units[task.id]
        if unit.state is not None:
            continue
        expansion = core.state.expansions.get(task.id)
        if expansion is not None:
            for instance in expansion.units:
                if instance.state is None and not instance.has_begun:
                    end_unstarted(core, instance)
            task_end.end_template(core, task)
        elif not unit.has_begun:
            end_unstarted(core, unit)


def end_unstarted(core: MachineCore, unit: Unit) -> None:
    """Ends a unit that must not start: the run is stopping, or a dependency blocks it."""
    if core.state.is_out_of_budget:
        task_end.end(core, unit, "stopped", "budget")
    elif unit.index is None and is_blocked(core, unit.task):
        task_end.end(core, unit, "skipped", "upstream")
    else:
        task_end.end(core, unit, "skipped", "failure")


def _causes(*seqs: int | None) -> list[int]:
    return sorted({seq for seq in seqs if seq is not None})
