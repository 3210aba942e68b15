"""Matrices: one instance of a task for each combination of values, each with its own id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.raw_value import has_unknown_performer, is_present, raw_value
from forum_runner.manifest.suggest import hint_for
from forum_runner.model import Reference, Task
from forum_runner.wave_plan.unit_id import matrix_suffix

MAX_INSTANCES = 1_000


def instance_count(task: Task) -> int:
    return prod(len(values) for values in task.matrix.values()) if task.matrix else 1


def instances(task: Task) -> list[tuple[str, Mapping[str, Any]]]:
    """The id suffix and the values of each instance of a task with a matrix, in the order of the ids."""
    axes, value_lists = zip(*sorted((task.matrix or {}).items()), strict=True)
    combinations = [dict(zip(axes, values, strict=True)) for values in product(*value_lists)]
    suffixed = (
        (matrix_suffix({axis: as_text(value) for axis, value in values.items()}), values) for values in combinations
    )
    return sorted(suffixed, key=lambda pair: pair[0])


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def check_matrix(task: Task) -> Iterator[ManifestFinding]:
    if task.matrix is None:
        return
    origin = task.origin.at("matrix")
    if raw_value(origin) == {}:
        yield origin.key_finding("F701", f"the matrix of '{task.id}' has no axis")
    for axis, values in task.matrix.items():
        if raw_value(origin.at(axis)) == []:
            yield origin.at(axis).key_finding("F701", f"axis '{axis}' of the matrix has no values")
        indexes: dict[str, int] = {}
        for index, value in enumerate(values):
            text = as_text(value)
            if text in indexes:
                yield origin.at(axis, index).finding("F703", f"axis '{axis}' of the matrix contains '{text}' twice")
            indexes[text] = index
    count = instance_count(task)
    if count > MAX_INSTANCES:
        yield origin.key_finding(
            "F702", f"the matrix of '{task.id}' has {count:,} instances; the limit is {MAX_INSTANCES:,}"
        )


def check_selected_instances(upstream: Task, selected: Mapping[str, Any], origin: Origin) -> Iterator[ManifestFinding]:
    """Checks the instances of `upstream` that a `matrix` selects; `origin` is the origin of that `matrix`."""
    declared = upstream.origin.at("matrix")
    for axis, value in sorted(selected.items()):
        if not is_present(declared):
            if has_unknown_performer(upstream):
                continue
            yield origin.at(axis).key_finding("F307", f"'{upstream.id}' has no matrix to select from")
        elif not upstream.matrix:
            continue
        elif axis in upstream.matrix:
            if (text := _literal_text(value)) is not None:
                yield from check_value(upstream, axis, text, origin.at(axis))
        elif not is_present(declared.at(axis)):
            message = f"the matrix of '{upstream.id}' has no axis '{axis}'"
            yield origin.at(axis).key_finding("F307", message, hint_for(axis, upstream.matrix, "axes"))


def check_value(upstream: Task, axis: str, text: str, origin: Origin) -> Iterator[ManifestFinding]:
    known = [as_text(item) for item in (upstream.matrix or {}).get(axis, ())]
    is_complete = known and len(known) == len(raw_value(upstream.origin.at("matrix", axis)))
    if is_complete and text not in known:
        message = f"axis '{axis}' of '{upstream.id}' has no value '{text}'"
        yield origin.finding("F307", message, hint_for(text, known, "values"))


def literal_values(selected: Mapping[str, Any]) -> dict[str, str]:
    """The selected value of each axis, as text. Values that contain references are left out."""
    return {axis: text for axis, value in selected.items() if (text := _literal_text(value)) is not None}


def _literal_text(value: Any) -> str | None:
    if not isinstance(value, tuple):
        return as_text(value)
    return None if any(isinstance(part, Reference) for part in value) else "".join(map(str, value))
