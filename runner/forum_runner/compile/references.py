"""References in texts: every `${{ ... }}` must name an input, an axis, a piece of data or the run that is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forum_runner.compile.edge_checks import has_unclear_edges
from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.raw_value import has_wrong_type, is_present
from forum_runner.manifest.suggest import hint_for
from forum_runner.manifest.template import REFERENCE_HINT, parse_text
from forum_runner.model import EdgeKind, Plan, Reference, Task, Text

_RUN_FACTS = ("id",)


def texts_of(task: Task) -> Iterator[tuple[Text, Origin]]:
    """The texts of a task that may use all that it is given."""
    at = task.origin
    if task.instruction is not None:
        yield task.instruction, at.at("instruction")
    for index, text in enumerate(task.run or ()):
        yield text, at.at("run", index)
    for index, text in enumerate(task.done_when):
        yield text, at.at("done_when", index)
    for check in task.accept:
        for index, text in enumerate(check.command or ()):
            yield text, check.origin.at("command", index)
    if task.gate is not None:
        yield task.gate.question, at.at("gate", "question")


def references_in(text: Text) -> Iterator[Reference]:
    return (part for part in text if isinstance(part, Reference))


def references_within(value: Any) -> Iterator[Reference]:
    """The references in a value of `with`, however deep they stand."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references_within(item)
    elif isinstance(value, str) and "${{" in value:
        yield from references_in(parse_text(value)[0])


def whole_reference(value: Any) -> Reference | None:
    """The reference that a value is, if it is nothing else."""
    if not isinstance(value, str) or "${{" not in value:
        return None
    text, _ = parse_text(value)
    return text[0] if len(text) == 1 and isinstance(text[0], Reference) else None


def data_names(task: Task) -> set[str]:
    names = {need.name for need in task.needs if need.kind is EdgeKind.DATA}
    return names | {task.foreach.name} if task.foreach else names


def check_references(plan: Plan) -> Iterator[ManifestFinding]:
    for task in plan.tasks.values():
        for text, origin in texts_of(task):
            # Most texts are one plain string: nothing to look at.
            if len(text) > 1 or (text and not isinstance(text[0], str)):
                for reference in references_in(text):
                    yield from _check(reference, task, plan, origin)
        for source in task.selections:
            for axis, chosen in source.matrix.items():
                yield from _check_choice(chosen, task, plan, source.origin.at("matrix", axis))
        if task.arguments:
            yield from _check_arguments(task.arguments, task, plan, task.origin.at("with"))
    for output in plan.outputs.values():
        for axis, chosen in output.matrix.items():
            for reference in references_in(chosen) if isinstance(chosen, tuple) else ():
                place = output.origin.at("matrix", axis).place_of(reference.written)
                yield ManifestFinding("F020", place, "an output picks instances by values that are written out")


def _check(reference: Reference, task: Task, plan: Plan, origin: Origin) -> Iterator[ManifestFinding]:
    name = reference.name
    match reference.namespace:
        case "inputs":
            known, what = set(plan.inputs), f"the plan has no input '{name}'"
        case "matrix":
            known, what = set(task.matrix or ()), f"task '{task.id}' has no matrix axis '{name}'"
        case "run":
            known, what = set(_RUN_FACTS), f"a run has no '{name}'"
        case _:
            known, what = data_names(task), f"no data edge brings '{name}' to task '{task.id}'"
    if name in known:
        return
    place = origin.place_of(reference.written)
    edge = next((n for n in task.needs if n.task == name), None) if reference.namespace == "needs" else None
    if edge is not None and edge.kind is EdgeKind.ORDER:
        hint = "make it a data edge"
        yield ManifestFinding("F304", place, f"the edge from '{name}' is an order edge and brings no data", hint)
    elif edge is not None:
        yield ManifestFinding("F020", place, what, f"the edge from '{name}' brings it under the name '{edge.name}'")
    elif not _may_be_there(reference, task, plan):
        yield ManifestFinding("F020", place, what, hint_for(name, known, f"{reference.namespace} here"))


def _may_be_there(reference: Reference, task: Task, plan: Plan) -> bool:
    """Whether what the reference means is written, but wrong in a way that kept it from being read."""
    if reference.namespace == "matrix":
        at = task.origin.at("matrix")
        return has_wrong_type(at, dict) or is_present(at.at(reference.name))
    if reference.namespace == "inputs":
        return has_wrong_type(plan.origin.at("inputs"), dict)
    return reference.namespace == "needs" and has_unclear_edges(task, plan)


def _check_choice(chosen: Any, task: Task, plan: Plan, origin: Origin) -> Iterator[ManifestFinding]:
    if not isinstance(chosen, tuple):
        return
    for reference in references_in(chosen):
        if reference.namespace in ("matrix", "inputs"):
            yield from _check(reference, task, plan, origin)
        else:
            place = origin.place_of(reference.written)
            yield ManifestFinding("F020", place, "instances are picked by matrix values and inputs only")


def _check_arguments(value: Any, task: Task, plan: Plan, origin: Origin) -> Iterator[ManifestFinding]:
    """The values of `with`, however deep a reference stands in them."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _check_arguments(item, task, plan, origin.at(name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _check_arguments(item, task, plan, origin.at(index))
    elif isinstance(value, str) and "${{" in value:
        text, problems = parse_text(value)
        for problem in problems:
            yield ManifestFinding(
                "F019", origin.place_of(problem.written, last=problem.is_last), problem.message, REFERENCE_HINT
            )
        is_argument = len(origin.path) == len(task.origin.path) + 2
        for reference in references_in(text):
            yield from _check(reference, task, plan, origin)
            if reference.namespace in ("needs", "run") and not (is_argument and whole_reference(value)):
                yield only_as_a_whole(reference, origin)


def only_as_a_whole(reference: Reference, origin: Origin) -> ManifestFinding:
    """What is known only when the run comes to it cannot be put into a text before."""
    message = f"'{reference.namespace}.{reference.name}' can only be handed on as a whole"
    hint = f"write '{reference.written}' alone as the value of an input"
    return ManifestFinding("F314", origin.place_of(reference.written), message, hint)
