"""Looks up values as they are in the file, valid or not, so that an invalid field is not also reported as missing."""

from typing import Any

from forum_runner.document import Origin
from forum_runner.model import Task

_ABSENT = object()


def is_present(origin: Origin) -> bool:
    return _look_up(origin) is not _ABSENT


def has_wrong_type(origin: Origin, expected: type) -> bool:
    """Whether the value is present and does not have the type `expected`."""
    value = _look_up(origin)
    return value is not _ABSENT and not isinstance(value, expected)


def raw_value(origin: Origin) -> Any:
    """The value in the file; None if there is none."""
    value = _look_up(origin)
    return None if value is _ABSENT else value


def has_unknown_performer(task: Task) -> bool:
    """Whether it is unknown if an agent or a plan performs the task. If so, the type of the output is unknown too."""
    if task.agent is not None or task.lane is not None or task.uses is not None:
        return False
    return not is_present(task.origin.at("agent")) and not is_present(task.origin.at("lane"))


def _look_up(origin: Origin) -> Any:
    value = origin.document.value
    for depth, step in enumerate(origin.path, start=1):
        name = origin.document.renames.get(origin.path[:depth], step)
        exists = name in value if isinstance(value, dict) else isinstance(value, list) and name in range(len(value))
        if not exists:
            return _ABSENT
        value = value[name]
    return value
