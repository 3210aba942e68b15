"""The source of a delivered value, as the wave plan records it.

`{task}` is one task's output, `{each}` the outputs of a foreach's instances; `{list}` and `{object}` combine others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forum_runner.compile import matrix
from forum_runner.compile.project import Project
from forum_runner.manifest import pointer
from forum_runner.model import OutputSelection, Plan, Task
from forum_runner.wave_plan.unit_id import matrix_suffix

ValueSource = dict[str, Any]


def value_of(
    project: Project, plan: Plan, prefix: str, selection: OutputSelection, chosen: dict[str, str]
) -> ValueSource:
    """The source of a selected value in a plan that is expanded under `prefix`; `chosen` selects instances by axis."""
    task, id_ = plan.tasks[selection.task], prefix + selection.task
    values = [
        _of_instance(project, task, id_ + suffix, selection.select)
        for suffix in _selected_suffixes(project, task, chosen)
    ]
    return {"list": values} if task.matrix and set(chosen) != set(task.matrix) else values[0]


def last_tasks(project: Project, plan: Plan, prefix: str, name: str, chosen: dict[str, str]) -> list[str]:
    """The ids that end a task: for a used plan, its tasks on which no other depends."""
    task = plan.tasks[name]
    ids = [prefix + name + suffix for suffix in _selected_suffixes(project, task, chosen)]
    inner = project.plan_of(task)
    if inner is None:
        return ids
    needed = {need.task for t in inner.tasks.values() for need in t.needs}
    needed |= {t.foreach.task for t in inner.tasks.values() if t.foreach}
    last = [other for other in inner.tasks if other not in needed]
    return [found for id_ in ids for other in last for found in last_tasks(project, inner, id_ + "/", other, {})]


def _selected_suffixes(project: Project, task: Task, chosen: dict[str, str]) -> list[str]:
    """The id suffixes of the selected instances: all, or those with the chosen values."""
    if not task.matrix:
        return [""]
    if set(chosen) == set(task.matrix):
        return [matrix_suffix(chosen)]
    found = project.instances(task)
    return [s for s, v in found if all(matrix.as_text(v[axis]) == text for axis, text in chosen.items())]


def tasks_in(value: ValueSource) -> Iterator[str]:
    """The ids of all tasks in a source."""
    if "task" in value:
        yield value["task"]
    elif "each" in value:
        yield value["each"]
    elif "list" in value:
        for item in value["list"]:
            yield from tasks_in(item)
    else:
        for item in value["object"].values():
            yield from tasks_in(item)


def _of_instance(project: Project, task: Task, id_: str, path: str) -> ValueSource:
    inner = project.plan_of(task)
    if inner is not None:
        return _of_outputs(project, inner, id_ + "/", pointer.tokens(path))
    if task.foreach:
        return {"each": id_, "item": path} if path else {"each": id_}
    return {"task": id_, "select": path} if path else {"task": id_}


def _of_outputs(project: Project, plan: Plan, prefix: str, tokens: list[str]) -> ValueSource:
    """All outputs of a used plan as an object, or the part of them that the tokens select."""

    def value(output: OutputSelection) -> ValueSource:
        return value_of(project, plan, prefix, output, matrix.literal_values(output.matrix))

    if tokens:
        return _selected(value(plan.outputs[tokens[0]]), tokens[1:])
    return {"object": {name: value(output) for name, output in plan.outputs.items()}}


def _selected(value: ValueSource, tokens: list[str]) -> ValueSource:
    """The source with a pointer applied to it, as far as possible at compile time."""
    if not tokens:
        return value
    if "object" in value:
        return _selected(value["object"][tokens[0]], tokens[1:])
    if "list" in value:
        return _selected(value["list"][int(tokens[0])], tokens[1:])
    return {**value, "select": value.get("select", "") + pointer.join(tokens)}
