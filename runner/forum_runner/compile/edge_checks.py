"""Checks the edges, conditions and selected instances of a plan, and finds cycles and unused tasks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from forum_runner.compile.digraph import Digraph, find_cycle, reachable, reverse, strongly_connected
from forum_runner.compile.matrix import check_selected_instances
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.raw_value import has_unknown_performer, has_wrong_type, is_present, raw_value
from forum_runner.model import EdgeKind, Foreach, Need, OutputSelection, Plan, Task, When


def check_edges(plan: Plan) -> Iterator[ManifestFinding]:
    upstreams = _upstreams(plan)
    downstreams = reverse(upstreams)
    descendants = cache(lambda name: reachable([name], downstreams))
    for task in plan.tasks.values():
        if task.needs or task.foreach:
            yield from _check_needs(task)
        if task.when and task.when.task in plan.tasks:
            is_upstream = task.when.task in upstreams[task.id] or task.id in descendants(task.when.task)
            yield from _check_condition(task, task.when, plan, is_upstream=is_upstream)
        for selection in task.selections:
            yield from _check_instances(selection, plan)
    for output in plan.outputs.values():
        yield from _check_instances(output, plan)
    yield from _check_cycles(plan, upstreams)
    yield from _check_unused_tasks(plan, upstreams)


def _upstreams(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The tasks that each task depends on. Unknown tasks and the task itself are left out."""
    result = {}
    for name, task in plan.tasks.items():
        needed = dict.fromkeys(edge.task for edge in _edges(task))
        result[name] = tuple(upstream for upstream in needed if upstream in plan.tasks and upstream != name)
    return result


def _edges(task: Task) -> tuple[Need | Foreach, ...]:
    return (*task.needs, task.foreach) if task.foreach else task.needs


def _check_instances(selection: OutputSelection, plan: Plan) -> Iterator[ManifestFinding]:
    if selection.matrix and selection.task in plan.tasks:
        yield from check_selected_instances(plan.tasks[selection.task], selection.matrix, selection.origin.at("matrix"))


def _check_needs(task: Task) -> Iterator[ManifestFinding]:
    names: set[str] = set()
    for edge in _edges(task):
        if edge.task == task.id and not edge.origin.is_ambiguous():
            yield edge.origin.at("task").finding("F302", f"task '{task.id}' depends on itself")
        if isinstance(edge, Need) and edge.kind is EdgeKind.ORDER:
            for field in edge.data_fields:
                message = f"an order edge delivers no data, so '{field}' has no effect"
                yield edge.origin.at(field).key_finding("F304", message, "use 'edge: data', or remove the field")
            continue
        if edge.name in names:
            message = f"two edges of task '{task.id}' deliver data under the name '{edge.name}'"
            yield edge.origin.at("as").finding("F305", message, "rename one of them with 'as'")
        names.add(edge.name)
    if task.foreach and task.matrix:
        message = f"task '{task.id}' has both a matrix and a foreach"
        yield task.foreach.origin.key_finding("F704", message, "use two tasks")


def _check_condition(task: Task, when: When, plan: Plan, *, is_upstream: bool) -> Iterator[ManifestFinding]:
    origin = when.origin.at("task")
    if when.task == task.id:
        message = f"the condition of '{task.id}' depends on its own output"
        yield origin.finding("F306", message, "name an upstream task")
    elif not is_upstream and not has_unclear_edges(task, plan):
        message = f"the condition depends on '{when.task}', which is not upstream of '{task.id}'"
        yield origin.finding("F306", message, "add it to 'needs'; an order edge is enough")


def has_unclear_edges(task: Task, plan: Plan) -> bool:
    """Whether the upstreams of the task, or the names under which they deliver data, are not all known.

    The reason is an edge that is invalid, has a duplicate key or refers to an unknown task.
    """
    origin = task.origin.at("needs")
    if origin.is_ambiguous() or has_wrong_type(origin, list) or len(raw_value(origin) or ()) != len(task.needs):
        return True
    if any(need.task not in plan.tasks or has_wrong_type(need.origin.at("as"), str) for need in task.needs):
        return True
    return task.foreach is None and is_present(task.origin.at("foreach"))


def _check_cycles(plan: Plan, upstreams: Digraph) -> Iterator[ManifestFinding]:
    """Reports one cycle for each strongly connected group of tasks, unless a duplicate key may be the cause."""
    upstreams = {name: needed for name, needed in upstreams.items() if needed}
    upstreams = {name: tuple(up for up in needed if up in upstreams) for name, needed in upstreams.items()}
    for group in strongly_connected(upstreams):
        if len(group) == 1:
            continue
        edges = [edge for name in group for edge in _edges(plan.tasks[name])]
        if not any(edge.origin.is_ambiguous() for edge in edges):
            cycle = find_cycle({name: tuple(up for up in upstreams[name] if up in group) for name in group})
            origin = next(edge.origin.at("task") for edge in _edges(plan.tasks[cycle[0]]) if edge.task == cycle[1])
            message = f"the plan has a cycle: {' -> '.join(cycle)}"
            yield origin.finding("F301", message, "each task depends on the next; remove one of the edges")


def _is_resolved(plan: Plan) -> bool:
    """Whether every edge and output is valid and refers to a known task.

    If not, a task may be used although it looks unused.
    """
    if len(raw_value(plan.origin.at("outputs"))) != len(plan.outputs):
        return False
    if any(has_unclear_edges(task, plan) or has_unknown_performer(task) for task in plan.tasks.values()):
        return False
    references = [output.task for output in plan.outputs.values()]
    references += [task.foreach.task for task in plan.tasks.values() if task.foreach]
    return all(name in plan.tasks for name in references)


def _check_unused_tasks(plan: Plan, upstreams: Digraph) -> Iterator[ManifestFinding]:
    """Reports tasks on which no output depends. A plan without outputs uses all its tasks."""
    if not plan.outputs:
        return
    output_tasks = [output.task for output in plan.outputs.values() if output.task in plan.tasks]
    needed = reachable(output_tasks, upstreams).union(output_tasks)
    unused = [task for name, task in plan.tasks.items() if name not in needed]
    if unused and _is_resolved(plan):
        hint = "add it to 'outputs', or to the 'needs' of a task that is used"
        for task in unused:
            yield task.origin.key_finding("F303", f"no output depends on task '{task.id}'", hint)
