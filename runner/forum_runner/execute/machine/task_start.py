"""Starts tasks, or ends them before they start: conditions, expansion, delivery, routing, gates, reuse."""

from __future__ import annotations

from typing import Any

from forum_runner.canonical import canonical
from forum_runner.execute.machine import call_result, task_end
from forum_runner.execute.machine.call_prompt import render
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.events import Decided
from forum_runner.execute.machine.routing import route
from forum_runner.execute.machine.task_output import Output, evaluate, make_body
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.body import JSON, TEXT, Body
from forum_runner.ledger.clock import written_time
from forum_runner.ledger.recorded_body import RedactedBodyError
from forum_runner.wave_plan.plan_value import NoValueError
from forum_runner.wave_plan.planned_task import DataEdge, ForeachRule, GateRule, PlannedTask


def arrive(core: MachineCore, task: PlannedTask) -> None:
    """Handles a task whose dependencies have all ended and whose wave, if there are waves, is open."""
    state = core.state
    unit = state.units[task.id]
    if unit.state is not None:
        return
    if state.is_out_of_budget:
        task_end.end(core, unit, "stopped", "budget")
    elif is_blocked(core, task):
        task_end.end(core, unit, "skipped", "upstream")
    elif state.is_stopping:
        task_end.end(core, unit, "skipped", "failure")
    elif task.conditions and not _condition_holds(core, unit):
        task_end.end(core, unit, "skipped", "condition")
    elif task.foreach is not None:
        _expand(core, unit, task.foreach)
    else:
        admit(core, unit)


def admit(core: MachineCore, unit: Unit) -> None:
    """Opens the unit's gate at once; a unit without a gate waits until there is room for a call."""
    if unit.task.gate is None or (unit.gate is not None and unit.gate.decision == "rejected"):
        core.fresh.append(unit)
    elif prepare(core, unit):
        _open_gate(core, unit)


def resume_task(core: MachineCore, task: PlannedTask) -> None:
    """Resumes a task that had arrived when an earlier process ended."""
    unit = core.state.units[task.id]
    if task.foreach is None:
        _resume_unit(core, unit) if _has_entries(unit) else arrive(core, task)
        return
    expansion = core.state.expansions.get(task.id)
    if expansion is None:
        arrive(core, task)
        return
    for instance in expansion.units:
        if instance.state is None:
            _resume_unit(core, instance) if _has_entries(instance) else admit(core, instance)
    task_end.end_template(core, task)


def _has_entries(unit: Unit) -> bool:
    return unit.has_begun or bool(unit.given) or unit.gate is not None


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
    return not state.blocks_order.isdisjoint(task.depends_on)


def _condition_holds(core: MachineCore, unit: Unit) -> bool:
    for condition in unit.task.conditions:
        try:
            value = evaluate(condition.value, core.state)
        except NoValueError:
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
    listed = Output(items).value
    if not isinstance(listed, list):
        task_end.fail(core, unit, "expects", "the items are not a list")
        return
    if len(listed) > foreach.max:
        task_end.fail(core, unit, "expects", f"there are {len(listed)} items, but `max` is {foreach.max}")
        return
    if unit.is_sensitive:
        items = items._replace(is_sensitive=True)
    data = {"task": unit.name, "instances": len(listed)}
    core.record("task.expanded", data, {"items": items}, _causes(unit.cause))
    for instance in core.state.expansions[unit.name].units:
        admit(core, instance)
    task_end.end_template(core, unit.task)


def prepare(core: MachineCore, unit: Unit) -> bool:
    """Delivers the data and routes the unit. False if the unit could not start, and has ended."""
    task = unit.task
    if (unit.given or unit.gate is not None) and not call_result.has_bodies(core, unit):
        return False
    if (task.edges or task.foreach is not None) and not _deliver(core, unit):
        return False
    if unit.agent is None:
        found = route(core.plan.wave_plan, task)
        scores = Body(canonical(found.scores), JSON)
        core.record("route.decided", {"task": unit.name, "agent": found.agent, "by": found.by}, {"scores": scores})
    return True


def _deliver(core: MachineCore, unit: Unit) -> bool:
    """False if a value is unavailable or does not match its schema, and the unit has ended."""
    task = unit.task
    name = ""
    try:
        for edge in task.edges:
            name = edge.name
            if name not in unit.given and not _deliver_value(core, unit, edge):
                return False
            _cut(core, unit, edge)
        if task.foreach is not None and unit.index is not None and task.foreach.name not in unit.given:
            name = task.foreach.name
            _deliver_item(core, unit, name, unit.index)
    except (NoValueError, RedactedBodyError) as error:
        task_end.fail(core, unit, "expects", f"the value for '{name}' is unavailable: {error}")
        return False
    return True


def _deliver_value(core: MachineCore, unit: Unit, edge: DataEdge) -> bool:
    value = make_body(edge.value, core.state)
    for digest in edge.expects:
        misfit = core.schemas.misfit(digest, Output(value).value)
        if misfit is not None:
            task_end.fail(core, unit, "expects", f"the value for '{edge.name}' does not match `expects`: {misfit}")
            return False
    last = max(core.state.units[name].ended or 0 for name in edge.value.tasks())
    _record_delivery(core, unit, edge.name, value, last)
    return True


def _deliver_item(core: MachineCore, unit: Unit, name: str, index: int) -> None:
    expansion = core.state.expansions[unit.task.id]
    item = canonical(expansion.items.value[index])
    _record_delivery(core, unit, name, Body(item, JSON, expansion.items.body.is_sensitive), expansion.seq)


def _cut(core: MachineCore, unit: Unit, edge: DataEdge) -> None:
    """Records how much of a value a prompt gets, unless an earlier process did."""
    given = unit.given[edge.name]
    if edge.max_bytes is None or given.kept_bytes is not None or _reads_json(core, unit):
        return
    value = given.text_bytes()
    if len(value) <= edge.max_bytes:
        return
    kept = len(value[: edge.max_bytes].decode(errors="ignore").encode())
    data = {"task": unit.name, "as": edge.name, "bytes": len(value), "kept_bytes": kept}
    core.record("context.cut", data, causes=_causes(unit.delivered))


def _reads_json(core: MachineCore, unit: Unit) -> bool:
    """Whether every adapter of the unit reads one JSON object, which contains whole values."""
    adapters = [core.plan.adapters[rung.adapter] for rung in unit.ladder]
    return bool(adapters) and all(adapter.stdin == "json" for adapter in adapters)


def _record_delivery(core: MachineCore, unit: Unit, name: str, value: Body, cause: int) -> None:
    if unit.is_sensitive and not value.is_sensitive:
        value = value._replace(is_sensitive=True)
    core.record("edge.delivered", {"task": unit.name, "as": name}, {"value": value}, [cause])


def _open_gate(core: MachineCore, unit: Unit) -> None:
    gate = unit.task.gate
    if gate is None:
        return
    if unit.gate is None:
        data: dict[str, Any] = {"task": unit.name}
        if gate.deadline_ms is not None:
            data["deadline"] = written_time(core.state.now_us + gate.deadline_ms * 1_000)
        displayed = Body(canonical(_document_for_gate(core, unit, gate)), JSON, unit.is_sensitive)
        core.record("gate.opened", data, {"displayed": displayed}, _causes(unit.delivered, unit.cause))
    opened = unit.gate
    if opened is not None and opened.decision is not None:
        core.fresh.append(unit)
    elif opened is not None and opened.deadline_us is not None:
        core.wait(unit, opened.deadline_us)


def _document_for_gate(core: MachineCore, unit: Unit, gate: GateRule) -> dict[str, Any]:
    """The document that a person sees at the gate: the question, and the call to be made."""
    question = core.recording.text(gate.question, unit.given, inline=True)
    prompt = render(core, core.recording, unit)
    displayed: dict[str, Any] = {"task": unit.name, "agent": unit.agent, "question": question}
    if prompt.argv:
        return {**displayed, "argv": list(prompt.argv), "stdin": prompt.stdin.decode(errors="replace")}
    return {**displayed, "system": prompt.system, "text": prompt.text}


def pass_deadline(core: MachineCore, unit: Unit) -> None:
    """Decides a gate whose deadline has passed, as the plan defines."""
    gate, rule = unit.gate, unit.task.gate
    if gate is None or rule is None:
        return
    data = {
        "task": unit.name,
        "decision": rule.deadline_decision,
        "by": "deadline",
        "authenticated": False,
        "displayed": gate.displayed,
    }
    core.record("gate.decided", data, causes=[gate.seq])


def take_decision(core: MachineCore, decided: Decided) -> None:
    """Records a person's decision. Ignores late decisions, and decisions about another document."""
    unit = core.state.units.get(decided.task)
    gate = None if unit is None else unit.gate
    if unit is None or gate is None or gate.decision is not None or unit.state is not None:
        return
    if gate.displayed != decided.displayed:
        return
    data = {"task": unit.name, "decision": decided.decision, "by": "person", "authenticated": False}
    bodies = {name: Body(text, TEXT, unit.is_sensitive) for name, text in decided.texts.items()}
    core.record("gate.decided", {**data, "displayed": gate.displayed}, bodies, [gate.seq], decided.actor)
    # Cancels the timer of the deadline.
    unit.resumes_us = None
    core.fresh.append(unit)


def reuse(core: MachineCore, unit: Unit, fingerprint: str) -> bool:
    """Reuses the result of an earlier run instead of an attempt. False if there is none."""
    found, plan = core.context.find_reusable(unit, fingerprint), core.plan.wave_plan
    try:
        if found is None or call_result.missing_for_outputs(plan, unit.task.id, Output(found.output)) is not None:
            return False
        output = Body(found.output.data, found.output.type, unit.is_sensitive)
    except RedactedBodyError:
        return False
    data = {"task": unit.name, "fingerprint": fingerprint, "source": found.source, "run": found.run, "seq": found.seq}
    core.record("task.reused", data, {"output": output}, _causes(unit.delivered, unit.cause))
    call_result.proceed(core, unit)
    return True


def sweep(core: MachineCore) -> None:
    """Ends every unit that has not started: the run is stopping."""
    for task in core.plan.tasks.values():
        unit = core.state.units[task.id]
        if unit.state is not None:
            continue
        expansion = core.state.expansions.get(task.id)
        if expansion is not None:
            for instance in expansion.units:
                if instance.state is None and not instance.has_begun:
                    sweep_unit(core, instance)
            task_end.end_template(core, task)
        elif not unit.has_begun:
            sweep_unit(core, unit)


def sweep_unit(core: MachineCore, unit: Unit) -> None:
    if core.state.is_out_of_budget:
        task_end.end(core, unit, "stopped", "budget")
    elif unit.index is None and is_blocked(core, unit.task):
        task_end.end(core, unit, "skipped", "upstream")
    else:
        task_end.end(core, unit, "skipped", "failure")


def _causes(*seqs: int | None) -> list[int]:
    return sorted({seq for seq in seqs if seq is not None})
