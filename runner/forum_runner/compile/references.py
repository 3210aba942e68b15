"""Checks that each `${{ ... }}` refers to an existing input, axis, data edge or property of the run.

Some fields allow only some kinds of references.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forum_runner.compile.edge_checks import has_unclear_edges
from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.raw_value import has_wrong_type, is_present
from forum_runner.manifest.shared_fields import read_text
from forum_runner.manifest.suggest import hint_for
from forum_runner.manifest.template import nested_texts, parse_text
from forum_runner.model import EdgeKind, Plan, Reference, Task, Text

_RUN_PROPERTIES = ("id",)


def task_texts(task: Task) -> Iterator[tuple[Text, Origin]]:
    """The texts of a task that can contain references, each with its origin."""
    origin = task.origin
    if task.instruction is not None:
        yield task.instruction, origin.at("instruction")
    for index, text in enumerate(task.run or ()):
        yield text, origin.at("run", index)
    for index, text in enumerate(task.done_when):
        yield text, origin.at("done_when", index)
    for check in task.accept:
        for index, text in enumerate(check.command or ()):
            yield text, check.origin.at("command", index)
    if task.gate is not None:
        yield task.gate.question, origin.at("gate", "question")


def text_references(text: Text) -> Iterator[Reference]:
    return (part for part in text if isinstance(part, Reference))


def nested_references(value: Any) -> Iterator[Reference]:
    """The references in a value of `with`, at any depth."""
    for _, text in nested_texts(value):
        yield from text_references(parse_text(text)[0])


def whole_reference(value: Any) -> Reference | None:
    """The reference, if the value consists of nothing else; otherwise None."""
    if not isinstance(value, str) or "${{" not in value:
        return None
    text, _ = parse_text(value)
    return text[0] if len(text) == 1 and isinstance(text[0], Reference) else None


def data_names(task: Task) -> set[str]:
    names = {need.name for need in task.needs if need.kind is EdgeKind.DATA}
    return names | {task.foreach.name} if task.foreach else names


def check_references(plan: Plan) -> Iterator[ManifestFinding]:
    for task in plan.tasks.values():
        for text, origin in task_texts(task):
            # Most texts are one plain string.
            if len(text) > 1 or (text and not isinstance(text[0], str)):
                for reference in text_references(text):
                    yield from _check_reference(reference, task, plan, origin)
        for selection in task.selections:
            for axis, value in selection.matrix.items():
                yield from _check_selected_value(value, task, plan, selection.origin.at("matrix", axis))
        if task.arguments:
            yield from _check_arguments(task, plan)
    for output in plan.outputs.values():
        for axis, value in output.matrix.items():
            for reference in text_references(value) if isinstance(value, tuple) else ():
                place = output.origin.at("matrix", axis).place_of(reference.source)
                yield ManifestFinding("F020", place, "an output cannot select instances by a reference")


def _check_reference(reference: Reference, task: Task, plan: Plan, origin: Origin) -> Iterator[ManifestFinding]:
    name = reference.name
    match reference.namespace:
        case "inputs":
            known, noun, message = set(plan.inputs), "inputs", f"the plan has no input '{name}'"
        case "matrix":
            known, noun, message = set(task.matrix or ()), "axes", f"task '{task.id}' has no matrix axis '{name}'"
        case "run":
            known, noun, message = set(_RUN_PROPERTIES), "properties", f"a run has no property '{name}'"
        case _:
            known, noun, message = data_names(task), "data", f"no data edge delivers '{name}' to task '{task.id}'"
    if name in known:
        return
    place = origin.place_of(reference.source)
    edge = next((n for n in task.needs if n.task == name), None) if reference.namespace == "needs" else None
    if edge is not None and edge.kind is EdgeKind.ORDER:
        hint = "make it a data edge"
        yield ManifestFinding("F304", place, f"the edge from '{name}' is an order edge and delivers no data", hint)
    elif edge is not None:
        yield ManifestFinding("F020", place, message, f"the edge from '{name}' delivers it as '{edge.name}'")
    elif not _is_unreadable(reference, task, plan):
        yield ManifestFinding("F020", place, message, hint_for(name, known, f"available {noun}"))


def _is_unreadable(reference: Reference, task: Task, plan: Plan) -> bool:
    """Whether the target of the reference may be present, but is in a part that is invalid and could not be read."""
    if reference.namespace == "matrix":
        origin = task.origin.at("matrix")
        return has_wrong_type(origin, dict) or is_present(origin.at(reference.name))
    if reference.namespace == "inputs":
        return has_wrong_type(plan.origin.at("inputs"), dict)
    return reference.namespace == "needs" and has_unclear_edges(task, plan)


def _check_selected_value(value: Any, task: Task, plan: Plan, origin: Origin) -> Iterator[ManifestFinding]:
    if not isinstance(value, tuple):
        return
    for reference in text_references(value):
        if reference.namespace in ("matrix", "inputs"):
            yield from _check_reference(reference, task, plan, origin)
        else:
            place = origin.place_of(reference.source)
            yield ManifestFinding("F020", place, "only matrix values and inputs can select instances")


def _check_arguments(task: Task, plan: Plan) -> Iterator[ManifestFinding]:
    """Checks the references in `with`, at any depth."""
    for path, value in nested_texts(task.arguments):
        origin = task.origin.at("with", *path)
        findings: list[ManifestFinding] = []
        text = read_text(value, origin, findings)
        yield from findings
        is_whole_argument = len(path) == 1 and whole_reference(value) is not None
        for reference in text_references(text):
            yield from _check_reference(reference, task, plan, origin)
            if reference.namespace in ("needs", "run") and not is_whole_argument:
                yield partial_reference_finding(reference, origin)


def partial_reference_finding(reference: Reference, origin: Origin) -> ManifestFinding:
    """The finding for a reference that is only a part of an argument, but whose value is not known before the run."""
    message = f"'{reference.namespace}.{reference.name}' can only be passed as a whole value"
    hint = f"write only '{reference.source}' as the value of an input"
    return ManifestFinding("F314", origin.place_of(reference.source), message, hint)
