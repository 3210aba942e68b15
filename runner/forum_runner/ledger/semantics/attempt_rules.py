"""Attempts, checks and escalation: one call after the other, each with its beginning and its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forum_runner.ledger.semantics.begin_rules import check_cause, check_ready
from forum_runner.ledger.semantics.checked_run import CheckedCall, CheckedRun, CheckedUnit
from forum_runner.ledger.semantics.violation import Violation
from forum_runner.wave_plan.planned_task import Check, Rung

Entry = Mapping[str, Any]


def task_started(run: CheckedRun, seq: int, entry: Entry) -> None:
    data = entry["data"]
    unit = run.unit(data["task"])
    attempt = data["attempt"]
    if unit.state is not None or unit.reused or unit.call is not None or unit.holds or attempt != unit.attempts + 1:
        raise Violation("L409", f"attempt {attempt} of '{unit.name}' is not due")
    if attempt == 1:
        check_ready(run, unit)
    agent = _check_agent(run, unit, data)
    allowed = unit.task.retry.attempts
    if unit.attempts_at_step >= allowed:
        raise Violation("L410", f"'{unit.name}' may be tried {allowed} times at a tier, and was")
    run.open_call(unit, CheckedCall(seq, attempt, agent, data["reserved"]))
    if attempt == 1:
        check_cause(entry, unit.delivered_at, f"the last hand-over to '{unit.name}'")
        check_cause(entry, unit.gate.decided_at if unit.gate else None, "the gate's decision")
    else:
        check_cause(entry, unit.closed_at, "the end of the previous attempt")
    unit.attempts = attempt
    unit.attempts_at_step += 1
    unit.is_ok = unit.has_failed_check = False
    unit.checks_passed = 0


def _check_agent(run: CheckedRun, unit: CheckedUnit, data: Mapping[str, Any]) -> str:
    if unit.agent is None or data["agent"] != unit.agent:
        raise Violation("L411", f"'{unit.name}' is not the work of the agent '{data['agent']}'")
    ladder = run.plan.ladder_of(unit.task, unit.agent)
    if unit.step >= len(ladder) or ladder[unit.step] != Rung(data["tier"], data["adapter"]):
        sentence = f"'{unit.name}' is not due for the tier '{data['tier']}' by the adapter '{data['adapter']}'"
        raise Violation("L411", sentence)
    return unit.agent


def task_finished(run: CheckedRun, seq: int, entry: Entry) -> None:
    data = entry["data"]
    unit = run.unit(data["task"])
    call = unit.call
    if call is None or call.check is not None or call.attempt != data["attempt"] or call.is_orphan:
        raise Violation("L408", f"attempt {data['attempt']} of '{unit.name}' ends, and was not open")
    check_cause(entry, call.seq, "the attempt's start")
    run.close_call(unit, data["usage"])
    unit.closed_at = seq
    if data["status"] == "cancelled":
        unit.attempts_at_step -= 1
    if data["status"] == "ok":
        unit.is_ok = True
        unit.output = entry["bodies"]["output"]


def task_lost(run: CheckedRun, seq: int, entry: Entry) -> None:
    data = entry["data"]
    unit = run.unit(data["task"])
    call = unit.call
    if call is None or call.check is not None or call.attempt != data["attempt"]:
        raise Violation("L408", f"attempt {data['attempt']} of '{unit.name}' is lost, and was not open")
    check_cause(entry, call.seq, "the attempt's start")
    run.close_call(unit, None)
    unit.closed_at = seq
    unit.attempts_at_step -= 1


def task_reused(run: CheckedRun, _seq: int, entry: Entry) -> None:
    unit = run.unit(entry["data"]["task"])
    if unit.state is not None or unit.has_begun:
        raise Violation("L409", f"'{unit.name}' has begun already, and an earlier result stands in for it")
    check_ready(run, unit)
    unit.reused = True
    unit.output = entry["bodies"]["output"]


def verdict_asked(run: CheckedRun, seq: int, entry: Entry) -> None:
    data = entry["data"]
    unit = _unit_with_check(run, data)
    check = _due_check(unit, data)
    agent: str | None = data.get("agent")
    if agent is not None:
        own = run.plan.agents[check.agent or ""]
        expected = (check.agent, own.tier, own.adapters.get(own.tier))
        if (agent, data["tier"], data["adapter"]) != expected:
            raise Violation("L411", f"check {data['check']} of '{unit.name}' is not the work of the agent '{agent}'")
    run.open_call(unit, CheckedCall(seq, data["attempt"], agent, data["reserved"], data["check"], data["by"]))
    check_cause(entry, unit.closed_at, "the end of the attempt that is checked")


def verdict_given(run: CheckedRun, _seq: int, entry: Entry) -> None:
    data = entry["data"]
    unit = _unit_with_check(run, data)
    if data["by"] == "schema":
        _due_check(unit, data)
        check_cause(entry, unit.closed_at, "the end of the attempt that is checked")
    else:
        call = _open_check(unit, data)
        if call.by != data["by"] or call.is_orphan:
            raise Violation("L408", f"check {data['check']} of '{unit.name}' was not asked of this {data['by']}")
        check_cause(entry, call.seq, "which asked for the verdict")
        run.close_call(unit, data["usage"])
    if data["verdict"] == "pass":
        unit.checks_passed += 1
    elif data["verdict"] == "fail":
        unit.has_failed_check = True


def verdict_lost(run: CheckedRun, _seq: int, entry: Entry) -> None:
    unit = _unit_with_check(run, entry["data"])
    call = _open_check(unit, entry["data"])
    check_cause(entry, call.seq, "which asked for the verdict")
    run.close_call(unit, None)


def _unit_with_check(run: CheckedRun, data: Mapping[str, Any]) -> CheckedUnit:
    unit = run.unit(data["task"])
    if data["check"] >= len(unit.task.checks):
        raise Violation("L402", f"'{unit.name}' has no check {data['check']}")
    return unit


def _due_check(unit: CheckedUnit, data: Mapping[str, Any]) -> Check:
    check: Check = unit.task.checks[data["check"]]
    is_due = (
        unit.state is None
        and unit.call is None
        and unit.is_ok
        and data["attempt"] == unit.attempts
        and not unit.has_failed_check
        and data["check"] == unit.checks_passed
        and data["by"] == check.by
    )
    if not is_due:
        raise Violation("L415", f"check {data['check']} of attempt {data['attempt']} of '{unit.name}' is not due")
    return check


def _open_check(unit: CheckedUnit, data: Mapping[str, Any]) -> CheckedCall:
    call = unit.call
    if call is None or call.check != data["check"] or call.attempt != data["attempt"]:
        raise Violation("L408", f"check {data['check']} of '{unit.name}' ends, and was not asked for")
    return call


def escalation_raised(run: CheckedRun, _seq: int, entry: Entry) -> None:
    data = entry["data"]
    unit = run.unit(data["task"])
    ladder = run.plan.ladder_of(unit.task, unit.agent) if unit.agent is not None else ()
    tiers = [rung.tier for rung in ladder[unit.step : unit.step + 2]]
    is_due = unit.state is None and unit.attempts > 0 and unit.call is None and not unit.holds
    if not is_due or tiers != [data["from"], data["to"]]:
        raise Violation("L418", f"'{unit.name}' is not due to climb from '{data['from']}' to '{data['to']}'")
    check_cause(entry, unit.closed_at, "the end of the last attempt")
    unit.step += 1
    unit.attempts_at_step = 0
