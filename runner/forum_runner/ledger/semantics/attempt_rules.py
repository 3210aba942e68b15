"""Rules for calls: attempts, checks of their results, and escalation."""

from __future__ import annotations

from forum_runner.ledger.entries import (
    Entry,
    EscalationRaised,
    TaskFinished,
    TaskLost,
    TaskReused,
    TaskStarted,
    VerdictAsked,
    VerdictGiven,
    VerdictLost,
)
from forum_runner.ledger.semantics.begin_rules import check_cause, check_ready
from forum_runner.ledger.semantics.checked_run import CheckedCall, CheckedRun, CheckedUnit
from forum_runner.ledger.verification.report import Violation
from forum_runner.wave_plan.planned_task import Check, Rung


def task_started(run: CheckedRun, entry: Entry[TaskStarted]) -> None:
    data = entry.data
    unit, attempt = run.unit(data.task), data.attempt
    is_startable = unit.state is None and unit.call is None and not unit.is_accepted
    if not is_startable or attempt != unit.attempts + 1:
        raise Violation("L409", f"attempt {attempt} of '{unit.name}' is not due")
    if attempt == 1:
        check_ready(run, unit)
    agent = _check_agent(run, unit, data)
    max_attempts = unit.task.retry.attempts
    if unit.attempts_at_step >= max_attempts:
        raise Violation("L410", f"'{unit.name}' has already used all attempts of its tier: {max_attempts}")
    run.open_call(unit, CheckedCall(entry.seq, attempt, agent, data.reserved))
    if attempt == 1:
        check_cause(entry, unit.delivered_seq, f"the last delivery to '{unit.name}'")
        check_cause(entry, unit.gate.decided_seq if unit.gate else None, "the gate's decision")
    else:
        check_cause(entry, unit.closed_seq, "the end of the previous attempt")
    unit.attempts = attempt
    unit.attempts_at_step += 1
    unit.is_ok = unit.has_failed_check = False
    unit.checks_passed = 0


def _check_agent(run: CheckedRun, unit: CheckedUnit, data: TaskStarted) -> str:
    if unit.agent is None or data.agent != unit.agent:
        raise Violation("L411", f"'{unit.name}' is not assigned to agent '{data.agent}'")
    ladder = run.plan.ladder_of(unit.task, unit.agent)
    if unit.step >= len(ladder) or ladder[unit.step] != Rung(data.tier, data.adapter):
        raise Violation("L411", f"'{unit.name}' is not due for tier '{data.tier}' with adapter '{data.adapter}'")
    return unit.agent


def task_finished(run: CheckedRun, entry: Entry[TaskFinished]) -> None:
    data = entry.data
    unit = run.unit(data.task)
    call = _open_call(unit, data.attempt)
    if call.is_orphan:
        raise Violation("L408", f"attempt {data.attempt} of '{unit.name}' ends, but its process was lost")
    check_cause(entry, call.seq, "the start of the attempt")
    run.close_call(unit, call, data.usage)
    unit.closed_seq = entry.seq
    if data.status == "cancelled":
        unit.attempts_at_step -= 1
    if data.status == "ok":
        unit.is_ok = True
        unit.output = entry.bodies["output"]


def task_lost(run: CheckedRun, entry: Entry[TaskLost]) -> None:
    unit = run.unit(entry.data.task)
    call = _open_call(unit, entry.data.attempt)
    check_cause(entry, call.seq, "the start of the attempt")
    run.close_call(unit, call, None)
    unit.closed_seq = entry.seq
    unit.attempts_at_step -= 1


def _open_call(unit: CheckedUnit, attempt: int, check: int | None = None) -> CheckedCall:
    """The open call for an attempt, or for one of its checks."""
    call = unit.call
    if call is None or (call.attempt, call.check) != (attempt, check):
        what = f"attempt {attempt}" if check is None else f"check {check} of attempt {attempt}"
        raise Violation("L408", f"{what} of '{unit.name}' ends, but is not open")
    return call


def task_reused(run: CheckedRun, entry: Entry[TaskReused]) -> None:
    unit = run.unit(entry.data.task)
    if unit.state is not None or unit.has_begun:
        raise Violation("L409", f"'{unit.name}' reuses a result after it started")
    check_ready(run, unit)
    unit.is_reused = True
    unit.output = entry.bodies["output"]


def verdict_asked(run: CheckedRun, entry: Entry[VerdictAsked]) -> None:
    data = entry.data
    unit = _unit_with_check(run, data)
    check = _due_check(unit, data)
    if data.agent is not None:
        judge = run.plan.agents[check.agent or ""]
        expected = (check.agent, judge.tier, judge.adapters.get(judge.tier))
        if (data.agent, data.tier, data.adapter) != expected:
            raise Violation("L411", f"check {data.check} of '{unit.name}' is not assigned to agent '{data.agent}'")
    run.open_call(unit, CheckedCall(entry.seq, data.attempt, data.agent, data.reserved, data.check, data.by))
    check_cause(entry, unit.closed_seq, "the end of the attempt that it checks")


def verdict_given(run: CheckedRun, entry: Entry[VerdictGiven]) -> None:
    data = entry.data
    unit = _unit_with_check(run, data)
    if data.by == "schema":
        _due_check(unit, data)
        check_cause(entry, unit.closed_seq, "the end of the attempt that it checks")
    else:
        call = _open_call(unit, data.attempt, data.check)
        if call.by != data.by or call.is_orphan:
            fault = "its process was lost" if call.is_orphan else f"it was not requested from this {data.by}"
            raise Violation("L408", f"check {data.check} of '{unit.name}' has a verdict, but {fault}")
        check_cause(entry, call.seq, "which requested the verdict")
        run.close_call(unit, call, data.usage)
    if data.verdict == "pass":
        unit.checks_passed += 1
    elif data.verdict == "fail":
        unit.has_failed_check = True


def verdict_lost(run: CheckedRun, entry: Entry[VerdictLost]) -> None:
    data = entry.data
    unit = _unit_with_check(run, data)
    call = _open_call(unit, data.attempt, data.check)
    check_cause(entry, call.seq, "which requested the verdict")
    run.close_call(unit, call, None)


def _unit_with_check(run: CheckedRun, data: VerdictAsked | VerdictGiven | VerdictLost) -> CheckedUnit:
    unit = run.unit(data.task)
    if data.check >= len(unit.task.checks):
        raise Violation("L402", f"'{unit.name}' has no check {data.check}")
    return unit


def _due_check(unit: CheckedUnit, data: VerdictAsked | VerdictGiven) -> Check:
    check: Check = unit.task.checks[data.check]
    is_due = (
        unit.state is None
        and unit.call is None
        and unit.is_ok
        and data.attempt == unit.attempts
        and not unit.has_failed_check
        and data.check == unit.checks_passed
        and data.by == check.by
    )
    if not is_due:
        raise Violation("L415", f"check {data.check} of attempt {data.attempt} of '{unit.name}' is not due")
    return check


def escalation_raised(run: CheckedRun, entry: Entry[EscalationRaised]) -> None:
    data = entry.data
    unit = run.unit(data.task)
    ladder = run.plan.ladder_of(unit.task, unit.agent) if unit.agent is not None else ()
    tiers = [rung.tier for rung in ladder[unit.step : unit.step + 2]]
    is_due = unit.state is None and unit.attempts > 0 and unit.call is None and not unit.is_accepted
    if not is_due or tiers != [data.from_, data.to]:
        raise Violation("L418", f"'{unit.name}' is not due to escalate from '{data.from_}' to '{data.to}'")
    check_cause(entry, unit.closed_seq, "the end of the last attempt")
    unit.step += 1
    unit.attempts_at_step = 0
