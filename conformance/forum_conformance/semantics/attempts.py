"""The rules for attempts: when one may start, how it is closed, and when a result may be reused instead."""

from forum_conformance.body_references import bodies_of
from forum_conformance.entry import Entry
from forum_conformance.semantics.call import Call
from forum_conformance.semantics.names import unit_of
from forum_conformance.semantics.start_conditions import require_may_start
from forum_conformance.semantics.state import Run, Unit
from forum_conformance.semantics.violation import Violation, require, require_cause


def task_started(run: Run, entry: Entry) -> None:
    unit, data = unit_of(run, entry), entry["data"]
    _require_due(run, unit, data["attempt"])
    if data["attempt"] == 1:
        _require_ready(run, unit)
    step = unit.ladder[unit.step] if unit.ladder else None
    is_current_step = data["agent"] == unit.agent and (data["tier"], data["adapter"]) == step
    require(is_current_step, "L411", f"'{unit.name}' must use the agent, tier and adapter of its current step")
    max_attempts = run.plan.max_attempts(unit.task)
    has_attempt_left = unit.attempts_at_step < max_attempts
    require(has_attempt_left, "L410", f"'{unit.name}' has no attempts left at this step (maximum: {max_attempts})")
    call = Call(entry["seq"], unit.task, data["attempt"], None, "agent", data["agent"], data["reserved"])
    require_capacity(run, call)
    _require_causes(unit, entry)
    unit.attempts += 1
    unit.attempts_at_step += 1
    unit.last_attempt_ok = False
    unit.checks_passed = 0
    unit.has_failed_check = False
    run.open_call(unit, call)


def _require_due(run: Run, unit: Unit, attempt: int) -> None:
    is_idle = unit.ending is None and not unit.is_reused and unit.call is None
    require(is_idle, "L409", f"'{unit.name}' starts, but it has ended, was reused or has an open call")
    require(not run.holds(unit), "L409", f"'{unit.name}' starts again, but its result is already accepted")
    require(
        attempt == unit.attempts + 1,
        "L409",
        f"the next attempt of '{unit.name}' is {unit.attempts + 1}, not {attempt}",
    )


def _require_ready(run: Run, unit: Unit) -> None:
    task = run.task_of(unit)
    require_may_start(run, unit.task)
    for edge in sorted(run.plan.edge_names(unit.task) - unit.delivered_names):
        raise Violation("L406", f"'{unit.name}' starts before '{edge}' is delivered")
    is_approved = "gate" not in task or (unit.gate is not None and unit.gate.decision == "approved")
    require(is_approved, "L414", f"'{unit.name}' starts, but its gate is not approved")


def require_capacity(run: Run, call: Call) -> None:
    excess = run.budgets.excess(call)
    require(excess is None, "L412", f"the call exceeds a budget: {excess}")
    max_parallel = run.plan.policy["max_parallel"]
    require(len(run.open_calls) < max_parallel, "L413", f"the maximum of {max_parallel} open calls is exceeded")


def _require_causes(unit: Unit, entry: Entry) -> None:
    if entry["data"]["attempt"] > 1:
        require_cause(entry, unit.closed_seq, "the entry that closed the previous attempt")
        return
    require_cause(entry, unit.delivered_seq, "the last delivery")
    require_cause(entry, unit.gate.decided_seq if unit.gate else None, "the decision at the gate")


def task_finished(run: Run, entry: Entry) -> None:
    unit, data = unit_of(run, entry), entry["data"]
    call = _require_open(unit, entry)
    require(not call.is_orphan, "L408", f"attempt {call.attempt} of '{unit.name}' is an orphan and can only be lost")
    require_cause(entry, call.seq, "the start of the attempt")
    run.close_call(unit, call, data["usage"])
    unit.closed_seq = entry["seq"]
    unit.last_attempt_ok = data["status"] == "ok"
    if data["status"] == "cancelled":
        unit.attempts_at_step -= 1
    if unit.last_attempt_ok:
        unit.output = bodies_of(entry)["output"]


def task_lost(run: Run, entry: Entry) -> None:
    unit = unit_of(run, entry)
    call = _require_open(unit, entry)
    require_cause(entry, call.seq, "the start of the attempt")
    run.close_call(unit, call, None)
    unit.closed_seq = entry["seq"]
    unit.attempts_at_step -= 1


def _require_open(unit: Unit, entry: Entry) -> Call:
    attempt, call = entry["data"]["attempt"], unit.call
    if call is None or call.check is not None or call.attempt != attempt:
        raise Violation("L408", f"attempt {attempt} of '{unit.name}' is not open")
    return call


def task_reused(run: Run, entry: Entry) -> None:
    unit = unit_of(run, entry)
    _require_due(run, unit, 1)
    _require_ready(run, unit)
    unit.is_reused = True
    unit.output = bodies_of(entry)["output"]
