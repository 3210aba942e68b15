"""Ends: of tasks, of the run, and what holds between a pause and what follows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from forum_runner.ledger.semantics.begin_rules import check_cause, last_end
from forum_runner.ledger.semantics.checked_run import CheckedEnd, CheckedRun
from forum_runner.ledger.semantics.value_rules import can_be_made, is_value
from forum_runner.ledger.semantics.violation import Violation
from forum_runner.wave_plan.planned_task import PlannedTask

Entry = Mapping[str, Any]

STATES = ("passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled")
_BAD = ("failed", "stopped", "refused", "cancelled")


def task_ended(run: CheckedRun, seq: int, entry: Entry) -> None:
    name, end = entry["data"]["task"], entry["data"]["state"]
    task = run.plan.tasks.get(name)
    if task is not None and task.foreach is not None:
        _end_foreach(run, task, seq, entry)
        return
    unit = run.unit(name)
    if unit.state is not None or unit.call is not None:
        raise Violation("L417", f"'{name}' has ended already, or has a call that is open")
    if not _may_end(unit.task, end, entry["data"].get("reason"), holds=unit.holds, has_begun=unit.has_begun):
        raise Violation("L417", f"'{name}' cannot end {end} after what happened")
    check_cause(entry, unit.closed_at if unit.attempts else None, "the end of the last attempt")
    unit.state = end
    if unit.index is None:
        run.ends[name] = CheckedEnd(seq, end)


def _end_foreach(run: CheckedRun, task: PlannedTask, seq: int, entry: Entry) -> None:
    data = entry["data"]
    expansion = run.expansions.get(task.id)
    states = [unit.state for unit in run.instances(task.id)]
    if task.id in run.ends or None in states or (expansion and len(states) != expansion.instances):
        raise Violation("L417", f"'{task.id}' has ended already, or one of its instances has not")
    if not _may_end_foreach(run, task, data["state"], data.get("reason"), set(states)):
        raise Violation("L417", f"'{task.id}' cannot end {data['state']} after what happened")
    run.ends[task.id] = CheckedEnd(seq, data["state"])


def _may_end_foreach(
    run: CheckedRun, task: PlannedTask, end: str, reason: str | None, of_instances: set[str | None]
) -> bool:
    if of_instances == {"tolerated"}:
        return end == "tolerated"
    holds = task.id in run.expansions and of_instances <= {"passed", "tolerated"}
    return _may_end(task, end, reason, holds=holds, has_begun=_has_begun(run, task))


def _has_begun(run: CheckedRun, task: PlannedTask) -> bool:
    return any(unit.has_begun for unit in run.instances(task.id))


def _may_end(task: PlannedTask, state: str, reason: str | None, *, holds: bool, has_begun: bool) -> bool:
    if state == "passed":
        return holds
    if state == "skipped":
        return not has_begun and (reason != "condition" or bool(task.conditions))
    if state in ("failed", "tolerated") and (state == "tolerated") != task.allows_failure:
        return False
    return not holds


def answer_given(run: CheckedRun, _seq: int, entry: Entry) -> None:
    output = entry["data"]["output"]
    value = run.plan.outputs.get(output)
    if value is None:
        raise Violation("L402", f"the plan has no output '{output}'")
    tasks = list(value.tasks())
    if output in run.answers or any(task not in run.ends or run.ends[task].state != "passed" for task in tasks):
        raise Violation("L425", f"the answer '{output}' was given before, or comes from a task that did not pass")
    if not is_value(run, value, entry["bodies"]["value"]):
        raise Violation("L425", f"the answer '{output}' is not what its task put out")
    check_cause(entry, last_end(run, tasks), "the end of what the answer comes from")
    run.answers.add(output)


def run_paused(run: CheckedRun, _seq: int, _entry: Entry) -> None:
    if run.open_calls:
        raise Violation("L424", "the run is paused while a call is open")
    run.is_paused = True


def run_resumed(run: CheckedRun, _seq: int, _entry: Entry) -> None:
    run.is_paused = False
    for unit in run.open_calls.values():
        if unit.call is not None:
            unit.call.is_orphan = True
    run.orphans = len(run.open_calls)


def run_sealed(run: CheckedRun, _seq: int, entry: Entry) -> None:
    data = entry["data"]
    waiting = next((task for task in run.plan.tasks if task not in run.ends), None)
    if waiting is not None or run.open_calls:
        raise Violation("L423", f"the run is sealed, and '{waiting or next(iter(run.open_calls))}' has not ended")
    counted = Counter(end.state for end in run.ends.values())
    if any(data["counts"][name] != counted[name] for name in STATES):
        raise Violation("L420", "the seal's counts are not those of the tasks' ends")
    if data["totals"] != run.budgets.totals:
        wrong = next(name for name, total in run.budgets.totals.items() if data["totals"][name] != total)
        total = run.budgets.totals[wrong]
        raise Violation(
            "L421", f"the seal's total of {wrong} is {data['totals'][wrong]:,}, and the entries add up to {total:,}"
        )
    status = data["status"]
    is_passed = not any(counted[name] for name in _BAD)
    if (status == "passed") != is_passed or (status != "passed" and not counted[status]):
        raise Violation("L422", f"the run is sealed as {status}, and its tasks' ends say otherwise")
    if status == "passed":
        _check_answers(run)


def _check_answers(run: CheckedRun) -> None:
    for output, value in run.plan.outputs.items():
        if output in run.answers or any(run.ends[task].state != "passed" for task in value.tasks()):
            continue
        if can_be_made(run, value):
            raise Violation("L425", f"the run is sealed as passed, and its answer '{output}' was not given")
