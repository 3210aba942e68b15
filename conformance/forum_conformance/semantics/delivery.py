"""The rules for values that are passed between tasks and out of the run: expansions, deliveries, outputs."""

from forum_conformance.body_references import bodies_of
from forum_conformance.entry import Entry
from forum_conformance.semantics import values
from forum_conformance.semantics.names import unit_of
from forum_conformance.semantics.plan import sources
from forum_conformance.semantics.start_conditions import last_ending, require_ended, require_may_start, require_passed
from forum_conformance.semantics.state import Expansion, Run, Unit
from forum_conformance.semantics.violation import Violation, require, require_cause


def task_expanded(run: Run, entry: Entry) -> None:
    task, instances = entry["data"]["task"], entry["data"]["instances"]
    is_first = task not in run.expansions and task not in run.endings
    require(is_first, "L409", f"task '{task}' is already expanded or has ended")
    require_may_start(run, task)
    foreach = run.plan.tasks[task]["foreach"]
    items = bodies_of(entry)["items"]
    require(
        instances <= foreach["max"],
        "L419",
        f"task '{task}' has {instances} instances, more than its maximum of {foreach['max']}",
    )
    try:
        item_digests = values.read_items(run, items)
    except values.NoValue as error:
        raise Violation("L419", "items is not a list in RFC 8785 form") from error
    if item_digests is not None and len(item_digests) != instances:
        raise Violation(
            "L419", f"task '{task}' has {instances} instances, but the length of items is {len(item_digests)}"
        )
    require(
        values.is_value(run, foreach["from"], items),
        "L419",
        f"items is not the value that the foreach of task '{task}' selects",
    )
    run.expansions[task] = Expansion(entry["seq"], instances, item_digests)


def edge_delivered(run: Run, entry: Entry) -> None:
    unit, name = unit_of(run, entry), entry["data"]["as"]
    is_due = not unit.has_started and unit.ending is None and name not in unit.delivered_names
    require(is_due, "L409", f"'{name}' was already delivered to '{unit.name}', or the unit has started or ended")
    edges = run.plan.data_edges(unit.task)
    if name in edges:
        tasks = set(sources(edges[name]))
        require_ended(run, tasks, f"'{name}' is delivered")
        require_passed(run, tasks, f"'{name}' is delivered")
        require_cause(entry, last_ending(run, tasks), "the end of the task that the value comes from")
        is_expected_value = values.is_value(run, edges[name], bodies_of(entry)["value"])
    else:
        expansion = run.expansions[unit.task]
        require_cause(entry, expansion.seq, "the expansion that the item comes from")
        is_expected_value = _is_item(run, unit, expansion, entry)
    require(is_expected_value, "L407", f"the body delivered as '{name}' is not the value of its source")
    unit.delivered_names.add(name)
    unit.delivered_seq = entry["seq"]


def _is_item(run: Run, unit: Unit, expansion: Expansion, entry: Entry) -> bool:
    """Whether the delivered body is the unit's item. True if this cannot be checked."""
    if expansion.item_digests is None or unit.index is None:
        return True
    return values.has_digest(run, bodies_of(entry)["value"], expansion.item_digests[unit.index])


def answer_given(run: Run, entry: Entry) -> None:
    name = entry["data"]["output"]
    require(name not in run.recorded_outputs, "L425", f"output '{name}' is recorded twice")
    value = run.plan.outputs[name]
    tasks = set(sources(value))
    for task in sorted(tasks):
        ending = run.endings.get(task)
        has_passed = ending is not None and ending.state == "passed"
        require(has_passed, "L425", f"output '{name}' is recorded, but task '{task}' has not passed")
    is_expected_value = values.is_value(run, value, bodies_of(entry)["value"])
    require(is_expected_value, "L425", f"output '{name}' is not the value of its source")
    require_cause(entry, last_ending(run, tasks), "the end of the task that the output comes from")
    run.recorded_outputs.add(name)
