"""Checks values that flow through a plan: pointers must have a possible target, and types must be compatible.

The values come from edges, conditions, acceptance checks, arguments of used plans, and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from forum_runner.compile.project import Project
from forum_runner.compile.references import nested_references, whole_reference
from forum_runner.compile.type_rules import TEXT, NoTarget, Type, incompatibility, select
from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.raw_value import has_unknown_performer, has_wrong_type, is_present, raw_value
from forum_runner.manifest.suggest import hint_for
from forum_runner.model import EdgeKind, Foreach, Need, OutputSelection, Plan, Schema, Task, When

_ANYTHING = Type.of(True)


class OutputTypes:
    """The type of each task's output, computed once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._types_by_task: dict[int, Type] = {}

    def instance_type(self, task: Task) -> Type:
        """The type of one instance's output: the declared type, or else text.

        For a used plan, it is an object with the plan's outputs. If the declaration is invalid, it is any type.
        """
        if task.uses is None and task.output is None:
            # An invalid type has its own finding, so assume any type.
            is_unknown = is_present(task.origin.at("output")) or has_unknown_performer(task)
            return _ANYTHING if is_unknown else Type.of(TEXT)
        if task.output is not None:
            return Type.of(task.output.value)
        if id(task) not in self._types_by_task:
            inner = self._project.used_plan(task)
            self._types_by_task[id(task)] = self._outputs_type(inner) if inner else _ANYTHING
        return self._types_by_task[id(task)]

    def value_type(self, task: Task, selection: OutputSelection) -> Type | NoTarget:
        """The type of the selected value, or the reason why the pointer has no target.

        For a `foreach`, and for a matrix with an axis that is not selected, the value is a list.
        """
        selected = select(self.instance_type(task), selection.select)
        if isinstance(selected, NoTarget):
            return selected
        if task.foreach:
            return Type.list_of(selected, task.foreach.max)
        lengths = [len(values) for axis, values in (task.matrix or {}).items() if axis not in selection.matrix]
        return Type.list_of(selected, prod(lengths)) if lengths else selected

    def _outputs_type(self, plan: Plan) -> Type:
        properties = {}
        for name, output in plan.outputs.items():
            task = plan.tasks.get(output.task)
            found = self.value_type(task, output) if task else _ANYTHING
            properties[name] = found if isinstance(found, Type) else _ANYTHING
        return Type.record(properties)


def check_edge_types(plan: Plan, project: Project, types: OutputTypes) -> Iterator[ManifestFinding]:
    for task in plan.tasks.values():
        for selection in task.selections:
            if not isinstance(selection, Need) or _is_typed(selection):
                yield from _check_selection(selection, plan, types)
        for check in task.accept:
            yield from _check_compatibility(types.instance_type(task), task.id, check.schema, check.origin.at("schema"))
        if task.uses is not None:
            yield from _check_arguments(task, plan, project, types)
    for output in plan.outputs.values():
        yield from _check_selection(output, plan, types)


def _is_typed(need: Need) -> bool:
    """Whether the type of the edge needs a check. Most edges deliver the whole output and expect no type."""
    return need.kind is EdgeKind.DATA and bool(need.select or need.expects)


def _check_selection(selection: OutputSelection, plan: Plan, types: OutputTypes) -> Iterator[ManifestFinding]:
    upstream = plan.tasks.get(selection.task)
    if upstream is None:
        return
    found, origin = types.value_type(upstream, selection), selection.origin
    if isinstance(found, NoTarget):
        yield _no_target_finding(found, upstream, origin)
    elif _has_invalid_pointer(origin):
        return
    elif isinstance(selection, Need):
        yield from _check_compatibility(found, upstream.id, selection.expects, origin.at("expects"))
    elif isinstance(selection, When):
        yield from _check_compatibility(found, upstream.id, selection.output, origin.at("output"))
    elif isinstance(selection, Foreach) and "array" not in found.kinds():
        part = f"'{selection.select}' in " if selection.select else ""
        message = f"{part}the output of '{upstream.id}' is not a list"
        hint = "declare the type of its 'output', and 'select' a list in it"
        yield origin.at("select" if selection.select else "task").finding("F408", message, hint)


def _has_invalid_pointer(origin: Origin) -> bool:
    pointer = raw_value(origin.at("select"))
    return has_wrong_type(origin.at("select"), str) or bool(pointer and not pointer.startswith("/"))


def _check_compatibility(
    found: Type, source: str, expected: Schema | None, origin: Origin
) -> Iterator[ManifestFinding]:
    reason = incompatibility(source, found, Type.of(expected.value)) if expected is not None else None
    if reason is not None:
        yield origin.key_finding("F407", f"incompatible types: {reason}")


def _check_arguments(task: Task, plan: Plan, project: Project, types: OutputTypes) -> Iterator[ManifestFinding]:
    """Checks the values from edges and the run that a task passes to its used plan.

    They must be compatible with the plan's inputs, and must not go to secret inputs. Each data edge must be passed on.
    """
    inner = project.used_plan(task)
    is_unclear = has_wrong_type(task.origin.at("with"), dict)
    passed_names = {reference.name for reference in nested_references(task.arguments) if reference.namespace == "needs"}
    for name, value in task.arguments.items():
        reference = whole_reference(value)
        expected = inner.inputs.get(name) if inner else None
        if reference is None or expected is None:
            continue
        origin = task.origin.at("with", name)
        if expected.secret and reference.namespace in ("needs", "run"):
            message = f"input '{name}' is secret, but '{reference.namespace}.{reference.name}' is recorded"
            yield origin.finding("F018", message, "pass a secret input: ${{ inputs.NAME }}")
            continue
        need = next((n for n in task.needs if n.kind is EdgeKind.DATA and n.name == reference.name), None)
        if reference.namespace == "run":
            yield from _check_compatibility(Type.of(TEXT), "run.id", expected.schema, origin)
        elif reference.namespace == "needs" and need and need.task in plan.tasks:
            found = types.value_type(plan.tasks[need.task], need)
            if isinstance(found, Type):
                yield from _check_compatibility(found, need.task, expected.schema, origin)
    for need in task.needs:
        if need.kind is EdgeKind.DATA and need.name not in passed_names and need.task in plan.tasks and not is_unclear:
            message = f"the data of '{need.name}' is not passed to the used plan"
            hint = f"pass it with 'with: {{input: ${{{{ needs.{need.name} }}}}}}', or make it an order edge"
            yield need.origin.finding("F311", message, hint)


def _no_target_finding(found: NoTarget, upstream: Task, origin: Origin) -> ManifestFinding:
    message = found.sentence(f"the output of '{upstream.id}'")
    hint = hint_for(found.steps[-1], found.known, "available") if found.known else None
    if upstream.uses is None and upstream.output is None:
        hint = f"add an 'output' schema to '{upstream.id}'; without one its output is text"
    return origin.at("select").finding("F406", message, hint)
