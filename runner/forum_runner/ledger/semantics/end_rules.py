"""Rules for the ends of tasks, for outputs, pauses and resumptions, and for the seal."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import asdict

from forum_runner.canonical import MAX_INTEGER
from forum_runner.ledger.entries import AnswerGiven, AnyEntry, Entry, RunSealed, TaskEnded
from forum_runner.ledger.semantics.begin_rules import check_cause, last_end
from forum_runner.ledger.semantics.checked_run import CheckedEnd, CheckedRun
from forum_runner.ledger.semantics.value_rules import has_value, is_value
from forum_runner.ledger.verification.report import Violation
from forum_runner.wave_plan.planned_task import PlannedTask

_BAD_STATES = ("failed", "stopped", "refused", "cancelled")


def task_ended(run: CheckedRun, entry: Entry[TaskEnded]) -> None:
    name, state = entry.data.task, entry.data.state
    task = run.plan.tasks.get(name)
    if task is not None and task.foreach is not None:
        _end_foreach(run, task, entry)
        return
    unit = run.unit(name)
    if unit.state is not None or unit.call is not None:
        raise Violation("L417", f"'{name}' has already ended, or has an open call")
    if not _may_end(unit.task, entry.data, is_accepted=unit.is_accepted, has_begun=unit.has_begun):
        raise Violation("L417", f"'{name}' cannot end {state}: its entries say otherwise")
    check_cause(entry, unit.closed_seq if unit.attempts else None, "the end of the last attempt")
    unit.state = state
    if unit.index is None:
        run.ends[name] = CheckedEnd(entry.seq, state)


def _end_foreach(run: CheckedRun, task: PlannedTask, entry: Entry[TaskEnded]) -> None:
    expansion, instances = run.expansions.get(task.id), run.instances(task.id)
    states = {unit.state for unit in instances}
    if task.id in run.ends or None in states or (expansion and len(instances) != expansion.instances):
        raise Violation("L417", f"'{task.id}' has already ended, or one of its instances has not")
    if states == {"tolerated"}:
        is_allowed = entry.data.state == "tolerated"
    else:
        is_accepted = expansion is not None and states <= {"passed", "tolerated"}
        has_begun = any(unit.has_begun for unit in instances)
        is_allowed = _may_end(task, entry.data, is_accepted=is_accepted, has_begun=has_begun)
    if not is_allowed:
        raise Violation("L417", f"'{task.id}' cannot end {entry.data.state}: its instances say otherwise")
    run.ends[task.id] = CheckedEnd(entry.seq, entry.data.state)


def _may_end(task: PlannedTask, data: TaskEnded, *, is_accepted: bool, has_begun: bool) -> bool:
    """Whether a task or an instance may end in this state, for this reason."""
    state = data.state
    if state == "passed":
        return is_accepted
    if state == "skipped":
        return not has_begun and (data.reason != "condition" or bool(task.conditions))
    if state in ("failed", "tolerated") and (state == "tolerated") != task.allows_failure:
        return False
    return not is_accepted


def answer_given(run: CheckedRun, entry: Entry[AnswerGiven]) -> None:
    output = entry.data.output
    value = run.plan.outputs.get(output)
    if value is None:
        raise Violation("L402", f"the plan has no output '{output}'")
    tasks = list(value.tasks())
    have_passed = all(task in run.ends and run.ends[task].state == "passed" for task in tasks)
    if output in run.recorded_outputs:
        raise Violation("L425", f"output '{output}' is recorded twice")
    if not have_passed:
        raise Violation("L425", f"output '{output}' comes from a task that did not pass")
    if not is_value(run, value, entry.bodies["value"]):
        raise Violation("L425", f"output '{output}' is not the value of its source")
    check_cause(entry, last_end(run, tasks), "the end of the task that the output comes from")
    run.recorded_outputs.add(output)


def run_paused(run: CheckedRun, _entry: AnyEntry) -> None:
    if run.open_calls:
        raise Violation("L424", "the run is paused while a call is open")
    run.is_paused = True


def run_resumed(run: CheckedRun, _entry: AnyEntry) -> None:
    run.is_paused = False
    for unit in run.open_calls.values():
        if unit.call is not None:
            unit.call.is_orphan = True
    run.orphans = len(run.open_calls)


def run_sealed(run: CheckedRun, entry: Entry[RunSealed]) -> None:
    data = entry.data
    open_tasks = [*(task for task in run.plan.tasks if task not in run.ends), *run.open_calls]
    if open_tasks:
        raise Violation("L423", f"the run is sealed, but '{open_tasks[0]}' has not ended")
    counts = Counter(end.state for end in run.ends.values())
    if any(count != counts[state] for state, count in asdict(data.counts).items()):
        raise Violation("L420", "the seal's counts differ from the number of tasks that ended in each state")
    for name, total in run.budgets.totals.items():
        sealed = getattr(data.totals, name)
        if sealed != min(total, MAX_INTEGER):
            raise Violation("L421", f"the seal's total of {name} is {sealed:,}, but the entries add up to {total:,}")
    has_passed = not any(counts[state] for state in _BAD_STATES)
    if (data.status == "passed") != has_passed or (data.status != "passed" and not counts[data.status]):
        raise Violation("L422", f"the run is sealed as {data.status}, but the states of its tasks say otherwise")
    if data.status == "passed":
        _check_answers(run)


def _check_answers(run: CheckedRun) -> None:
    for output, value in run.plan.outputs.items():
        if output in run.recorded_outputs or any(run.ends[task].state != "passed" for task in value.tasks()):
            continue
        if has_value(run, value):
            raise Violation("L425", f"the run is sealed as passed, but output '{output}' is not recorded")
