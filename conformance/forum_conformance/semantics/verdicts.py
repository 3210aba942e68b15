"""The rules for verdicts: when a check of an attempt's result may be asked for, answered or lost."""

from forum_conformance.entry import Entry
from forum_conformance.semantics.attempts import require_capacity
from forum_conformance.semantics.call import Call
from forum_conformance.semantics.names import unit_of
from forum_conformance.semantics.state import Run, Unit
from forum_conformance.semantics.violation import Violation, require, require_cause


def verdict_asked(run: Run, entry: Entry) -> None:
    unit, data = unit_of(run, entry), entry["data"]
    _require_due(run, unit, entry)
    if data["by"] == "agent":
        _require_agent(run, unit, entry)
    agent = data.get("agent")
    call = Call(entry["seq"], unit.task, data["attempt"], data["check"], data["by"], agent, data["reserved"])
    require_capacity(run, call)
    require_cause(entry, unit.closed_seq, "the end of the attempt")
    run.open_call(unit, call)


def verdict_given(run: Run, entry: Entry) -> None:
    unit, data = unit_of(run, entry), entry["data"]
    if data["by"] == "schema":
        _require_due(run, unit, entry)
        require_cause(entry, unit.closed_seq, "the end of the attempt")
    else:
        call = _require_open(unit, entry)
        can_be_answered = call.by == data["by"] and not call.is_orphan
        sentence = (
            f"check {data['check']} of '{unit.name}' was left open by an earlier process and can only be lost, "
            "or was asked with a different `by`"
        )
        require(can_be_answered, "L408", sentence)
        require_cause(entry, call.seq, "the verdict.asked")
        run.close_call(unit, call, data["usage"])
    if data["verdict"] == "pass":
        unit.checks_passed += 1
    elif data["verdict"] == "fail":
        unit.has_failed_check = True


def verdict_lost(run: Run, entry: Entry) -> None:
    unit = unit_of(run, entry)
    call = _require_open(unit, entry)
    require_cause(entry, call.seq, "the verdict.asked")
    run.close_call(unit, call, None)


def _require_due(run: Run, unit: Unit, entry: Entry) -> None:
    data = entry["data"]
    is_open = unit.ending is None and unit.call is None
    require(is_open, "L415", f"'{unit.name}' is checked, but has ended or has an open call")
    is_last = unit.attempts == data["attempt"] and unit.last_attempt_ok
    require(
        is_last, "L415", f"attempt {data['attempt']} of '{unit.name}' is not its last attempt, or did not finish ok"
    )
    require(not unit.has_failed_check, "L415", f"'{unit.name}' is checked, but an earlier check has failed")
    is_next = data["check"] == unit.checks_passed
    require(is_next, "L415", f"the next check of '{unit.name}' is {unit.checks_passed}, not {data['check']}")
    is_planned_type = data["by"] in run.task_of(unit)["accept"][data["check"]]
    require(
        is_planned_type,
        "L415",
        f"check {data['check']} of '{unit.name}' is recorded as a '{data['by']}' check, "
        "but the plan defines a different type",
    )


def _require_agent(run: Run, unit: Unit, entry: Entry) -> None:
    data = entry["data"]
    name = run.task_of(unit)["accept"][data["check"]]["agent"]
    agent = run.plan.agents[name]
    expected = (name, agent["tier"], agent["adapters"].get(agent["tier"]))
    actual = (data["agent"], data["tier"], data["adapter"])
    require(
        actual == expected,
        "L411",
        f"check {data['check']} of '{unit.name}' must use the agent, tier and adapter that the plan specifies",
    )


def _require_open(unit: Unit, entry: Entry) -> Call:
    data, call = entry["data"], unit.call
    if call is None or (call.check, call.attempt) != (data["check"], data["attempt"]):
        raise Violation("L408", f"check {data['check']} of attempt {data['attempt']} of '{unit.name}' is not open")
    return call
