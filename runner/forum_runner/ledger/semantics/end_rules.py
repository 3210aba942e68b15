"""Ends: of tasks, of the run, and what holds between a pause and what follows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from forum_runner.ledger.semantics.begin_rules import check_cause, last_end
from forum_runner.ledger.semantics.plan import PlannedTask, tasks_of
from forum_runner.ledger.semantics.state import End, RunState
from forum_runner.ledger.semantics.values import can_be_made, is_value
from forum_runner.ledger.semantics.violation import Violation

Entry = Mapping[str, Any]

STATES = ("passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled")
_BAD = ("failed", "stopped", "refused", "cancelled")


def task_ended(state: RunState, seq: int, entry: Entry) -> None:
    name, end = entry["data"]["task"], entry["data"]["state"]
    task = state.plan.tasks.get(name)
    if task is not None and task.foreach is not None:
        _end_foreach(state, task, seq, entry)
        return
    unit = state.unit(name)
    if unit.state is not None or unit.call is not None:
        raise Violation("L417", f"'{name}' has ended already, or has a call that is open")
    if not _may_end(unit.task, end, entry["data"].get("reason"), holds=unit.holds, has_begun=unit.has_begun):
        raise Violation("L417", f"'{name}' cannot end {end} after what happened")
    check_cause(entry, unit.closed_at if unit.attempts else None, "the end of the last attempt")
    unit.state = end
    if unit.index is None:
        state.ends[name] = End(seq, end)


def _end_foreach(state: RunState, task: PlannedTask, seq: int, entry: Entry) -> None:
    data = entry["data"]
    expansion = state.expansions.get(task.id)
    states = [unit.state for unit in state.instances(task.id)]
    if task.id in state.ends or None in states or (expansion and len(states) != expansion.instances):
        raise Violation("L417", f"'{task.id}' has ended already, or one of its instances has not")
    if not _may_end_foreach(state, task, data["state"], data.get("reason"), set(states)):
        raise Violation("L417", f"'{task.id}' cannot end {data['state']} after what happened")
    state.ends[task.id] = End(seq, data["state"])


def _may_end_foreach(
    state: RunState, task: PlannedTask, end: str, reason: str | None, of_instances: set[str | None]
) -> bool:
    if of_instances == {"tolerated"}:
        return end == "tolerated"
    holds = task.id in state.expansions and of_instances <= {"passed", "tolerated"}
    return _may_end(task, end, reason, holds=holds, has_begun=_has_begun(state, task))


def _has_begun(state: RunState, task: PlannedTask) -> bool:
    return any(unit.has_begun for unit in state.instances(task.id))


def _may_end(task: PlannedTask, state: str, reason: str | None, *, holds: bool, has_begun: bool) -> bool:
    if state == "passed":
        return holds
    if state == "skipped":
        return not has_begun and (reason != "condition" or "when" in task.form)
    if state in ("failed", "tolerated") and (state == "tolerated") != ("allow_failure" in task.form):
        return False
    return not holds


def answer_given(state: RunState, _seq: int, entry: Entry) -> None:
    output = entry["data"]["output"]
    value = state.plan.outputs.get(output)
    if value is None:
        raise Violation("L402", f"the plan has no output '{output}'")
    tasks = list(tasks_of(value))
    if output in state.answers or any(task not in state.ends or state.ends[task].state != "passed" for task in tasks):
        raise Violation("L425", f"the answer '{output}' was given before, or comes from a task that did not pass")
    if not is_value(state, value, entry["bodies"]["value"]):
        raise Violation("L425", f"the answer '{output}' is not what its task put out")
    check_cause(entry, last_end(state, tasks), "the end of what the answer comes from")
    state.answers.add(output)


def run_paused(state: RunState, _seq: int, _entry: Entry) -> None:
    if state.open_calls:
        raise Violation("L424", "the run is paused while a call is open")
    state.is_paused = True


def run_resumed(state: RunState, _seq: int, _entry: Entry) -> None:
    state.is_paused = False
    for unit in state.open_calls.values():
        if unit.call is not None:
            unit.call.is_orphan = True
    state.orphans = len(state.open_calls)


def run_sealed(state: RunState, _seq: int, entry: Entry) -> None:
    data = entry["data"]
    waiting = next((task for task in state.plan.tasks if task not in state.ends), None)
    if waiting is not None or state.open_calls:
        raise Violation("L423", f"the run is sealed, and '{waiting or next(iter(state.open_calls))}' has not ended")
    counted = Counter(end.state for end in state.ends.values())
    if any(data["counts"][name] != counted[name] for name in STATES):
        raise Violation("L420", "the seal's counts are not those of the tasks' ends")
    if data["totals"] != state.budgets.totals:
        wrong = next(name for name, total in state.budgets.totals.items() if data["totals"][name] != total)
        total = state.budgets.totals[wrong]
        raise Violation(
            "L421", f"the seal's total of {wrong} is {data['totals'][wrong]:,}, and the entries add up to {total:,}"
        )
    status = data["status"]
    is_passed = not any(counted[name] for name in _BAD)
    if (status == "passed") != is_passed or (status != "passed" and not counted[status]):
        raise Violation("L422", f"the run is sealed as {status}, and its tasks' ends say otherwise")
    if status == "passed":
        _check_answers(state)


def _check_answers(state: RunState) -> None:
    for output, value in state.plan.outputs.items():
        if output in state.answers or any(state.ends[task].state != "passed" for task in tasks_of(value)):
            continue
        if can_be_made(state, value):
            raise Violation("L425", f"the run is sealed as passed, and its answer '{output}' was not given")
