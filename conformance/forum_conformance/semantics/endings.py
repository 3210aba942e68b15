"""The rules for the ends of tasks and of the run."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from forum_conformance.canonical import MAX_INTEGER
from forum_conformance.entry import Entry
from forum_conformance.semantics import values
from forum_conformance.semantics.names import unit_of
from forum_conformance.semantics.plan import sources
from forum_conformance.semantics.state import GOOD_STATES, Ending, Run
from forum_conformance.semantics.violation import require, require_cause

STATES = ("passed", "failed", "tolerated", "skipped", "stopped", "refused", "cancelled")
_BAD_STATES = frozenset({"failed", "stopped", "refused", "cancelled"})


def task_ended(run: Run, entry: Entry) -> None:
    name = entry["data"]["task"]
    if name in run.plan.tasks and "foreach" in run.plan.tasks[name]:
        _template_ended(run, entry, name)
    else:
        _unit_ended(run, entry)


def _template_ended(run: Run, entry: Entry, name: str) -> None:
    require(name not in run.endings, "L417", f"task '{name}' has already ended")
    expansion = run.expansions.get(name)
    all_ended = expansion is None or expansion.ended_count == expansion.instances
    require(all_ended, "L417", f"task '{name}' ends before its last instance")
    state = entry["data"]["state"]
    if expansion is not None and expansion.are_all_tolerated:
        require(state == "tolerated", "L417", f"task '{name}' cannot end {state}: every instance ended tolerated")
    else:
        holds = expansion is not None and expansion.good_count == expansion.instances
        has_started = expansion is not None and expansion.has_started
        _require_state(run.plan.tasks[name], name, entry, holds=holds, has_started=has_started)
    run.endings[name] = Ending(entry["seq"], state)


def _unit_ended(run: Run, entry: Entry) -> None:
    unit = unit_of(run, entry)
    is_open = unit.ending is None and unit.call is None
    require(is_open, "L417", f"'{unit.name}' has already ended or has an open call")
    _require_state(run.task_of(unit), unit.name, entry, holds=run.holds(unit), has_started=unit.has_started)
    require_cause(entry, unit.closed_seq, "the entry that closed the last attempt")
    unit.ending = Ending(entry["seq"], entry["data"]["state"])
    if unit.index is None:
        run.endings[unit.name] = unit.ending
    else:
        expansion = run.expansions[unit.task]
        expansion.ended_count += 1
        expansion.good_count += unit.ending.state in GOOD_STATES
        expansion.tolerated_count += unit.ending.state == "tolerated"


def _require_state(task: Mapping[str, Any], name: str, entry: Entry, *, holds: bool, has_started: bool) -> None:
    state, reason = entry["data"]["state"], entry["data"].get("reason")
    if state == "skipped":
        is_permitted = not has_started and (reason != "condition" or bool(task.get("when")))
    elif state in ("failed", "tolerated"):
        is_permitted = not holds and ("allow_failure" in task) == (state == "tolerated")
    else:
        is_permitted = holds == (state == "passed")
    require(is_permitted, "L417", f"'{name}' cannot end {state} at this point")


def run_sealed(run: Run, entry: Entry) -> None:
    data = entry["data"]
    for task in sorted(run.plan.tasks):
        require(task in run.endings, "L423", f"the run is sealed before task '{task}' has ended")
    require(not run.open_calls, "L423", "the run is sealed while a call is open")
    state_counts = Counter(ending.state for ending in run.endings.values())
    counts = {state: state_counts[state] for state in STATES}
    require(data["counts"] == counts, "L420", f"counts is {data['counts']}, expected {counts}")
    totals = {resource: min(total, MAX_INTEGER) for resource, total in run.budgets.totals.items()}
    require(data["totals"] == totals, "L421", f"totals is {data['totals']}, expected {totals}")
    is_passed = not _BAD_STATES & set(state_counts)
    is_permitted = is_passed if data["status"] == "passed" else state_counts[data["status"]] > 0
    require(is_permitted, "L422", f"status cannot be {data['status']} if counts is {counts}")
    if data["status"] == "passed":
        _require_answers(run)


def _require_answers(run: Run) -> None:
    for name, value in sorted(run.plan.outputs.items()):
        if name in run.recorded_outputs or any(run.endings[task].state != "passed" for task in sources(value)):
            continue
        require(not values.can_compute(run, value), "L425", f"the run passed, but output '{name}' is not recorded")
