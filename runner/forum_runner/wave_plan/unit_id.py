"""Ids of units: the id of a task or, for an instance of a task with `foreach`, `task[index]`."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from urllib.parse import quote

_INSTANCE = re.compile(r"(.*)\[(0|[1-9][0-9]{0,15})\]", re.DOTALL)
_NUMBERED = re.compile(r"(.*)\[[0-9]+\]", re.DOTALL)
_SUFFIX = re.compile(r"\[[^\]]*\]?")
_AXIS = re.compile(r"(?<=[\[,])[^\[\],=]+=")


def matrix_suffix(values: Mapping[str, str]) -> str:
    """The end of a matrix instance's id, with percent-encoded values: `[lang=de,os=linux]`."""
    return "[" + ",".join(f"{axis}={quote(values[axis], safe='+')}" for axis in sorted(values)) + "]"


def instance_id(task: str, index: int) -> str:
    return f"{task}[{index}]"


def split_instance_id(unit: str) -> tuple[str, int] | None:
    """The task and the index of an instance; None for any other id."""
    match = _INSTANCE.fullmatch(unit)
    return (match[1], int(match[2])) if match else None


def task_of_numbered(name: str) -> str | None:
    """The task of a name that ends with an index, possibly with leading zeros; None for any other name."""
    match = _NUMBERED.fullmatch(name)
    return match[1] if match else None


def task_of_unit(unit: str, tasks: Container[str]) -> str:
    """The task that a unit belongs to. A unit in `tasks` is a task itself, even if its id ends with an index."""
    split = None if unit in tasks else split_instance_id(unit)
    return unit if split is None else split[0]


def is_unit_of(unit: str, task: str) -> bool:
    """Whether the unit is the task itself, or an instance of it from a matrix or a `foreach`."""
    return unit == task or (unit.startswith(f"{task}[") and unit.endswith("]"))


def without_axis_names(unit: str) -> str:
    """A shorter form of an id, with only the values of its matrix: `build[de,linux]`."""
    return _AXIS.sub("", unit)


def without_instances(path: str) -> str:
    """A path of task ids without the brackets that select instances, even if a bracket is not closed."""
    return _SUFFIX.sub("", path)
