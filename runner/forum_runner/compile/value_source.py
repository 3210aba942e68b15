"""The source of a delivered value, as the wave plan records it.

`{task}` is the output of one task, `{each}` the outputs of the instances of a foreach. `{list}` and `{object}` combine
other sources. The pointers `select` (in a value) and `item` (in each output) select a part.
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


def value_source(
    project: Project, plan: Plan, prefix: str, selection: OutputSelection, selected: dict[str, str]
) -> ValueSource:
    """The source of a selected value in a plan whose ids start with `prefix`. `selected` selects instances by axis."""
    task, id_ = plan.tasks[selection.task], prefix + selection.task
    values = [
        _instance_source(project, task, id_ + suffix, selection.select)
        for suffix in _selected_suffixes(project, task, selected)
    ]
    return {"list": values} if task.matrix and set(selected) != set(task.matrix) else values[0]


def final_tasks(project: Project, plan: Plan, prefix: str, name: str, selected: dict[str, str]) -> list[str]:
    """The ids of the last tasks of a task: its selected instances, or in a used plan the tasks that no other needs."""
    task = plan.tasks[name]
    ids = [prefix + name + suffix for suffix in _selected_suffixes(project, task, selected)]
    inner = project.used_plan(task)
    if inner is None:
        return ids
    needed = {need.task for t in inner.tasks.values() for need in t.needs}
    needed |= {t.foreach.task for t in inner.tasks.values() if t.foreach}
    final = [other for other in inner.tasks if other not in needed]
    return [found for id_ in ids for other in final for found in final_tasks(project, inner, id_ + "/", other, {})]


def _selected_suffixes(project: Project, task: Task, selected: dict[str, str]) -> list[str]:
    """The id suffixes of the instances with the selected values."""
    if not task.matrix:
        return [""]
    if set(selected) == set(task.matrix):
        return [matrix_suffix(selected)]
    found = project.instances(task)
    return [s for s, v in found if all(matrix.as_text(v[axis]) == text for axis, text in selected.items())]


def tasks_in(value: ValueSource) -> Iterator[str]:
    """The ids of all tasks in a source."""
    if "task" in value or "each" in value:
        yield value.get("task") or value["each"]
    else:
        for part in value["list"] if "list" in value else value["object"].values():
            yield from tasks_in(part)


def _instance_source(project: Project, task: Task, id_: str, path: str) -> ValueSource:
    inner = project.used_plan(task)
    if inner is not None:
        return _outputs_source(project, inner, id_ + "/", pointer.tokens(path))
    if task.foreach:
        return {"each": id_, "item": path} if path else {"each": id_}
    return {"task": id_, "select": path} if path else {"task": id_}


def _outputs_source(project: Project, plan: Plan, prefix: str, tokens: list[str]) -> ValueSource:
    """All outputs of a used plan as an object, or the part of them that the tokens select."""

    def value(output: OutputSelection) -> ValueSource:
        return value_source(project, plan, prefix, output, matrix.literal_values(output.matrix))

    if tokens:
        return _select(value(plan.outputs[tokens[0]]), tokens[1:])
    return {"object": {name: value(output) for name, output in plan.outputs.items()}}


def _select(value: ValueSource, tokens: list[str]) -> ValueSource:
    """Applies a pointer to a source, as far as possible at compile time."""
    if not tokens:
        return value
    if "object" in value:
        return _select(value["object"][tokens[0]], tokens[1:])
    if "list" in value:
        return _select(value["list"][int(tokens[0])], tokens[1:])
    return {**value, "select": value.get("select", "") + pointer.join(tokens)}
