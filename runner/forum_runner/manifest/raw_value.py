"""What stands in a file, sound or not: a field that is wrong has its finding, and must not be missed as well."""

from typing import Any

from forum_runner.document import Origin
from forum_runner.model import Task

_NOTHING = object()


def is_present(origin: Origin) -> bool:
    return _look_up(origin) is not _NOTHING


def has_wrong_type(origin: Origin, kind: type) -> bool:
    """Whether something stands there that is not of the kind that it must be."""
    value = _look_up(origin)
    return value is not _NOTHING and not isinstance(value, kind)


def raw_value(origin: Origin) -> Any:
    """The value as the file has it; None if there is none."""
    value = _look_up(origin)
    return None if value is _NOTHING else value


def has_unknown_worker(task: Task) -> bool:
    """Whether nobody can say if an agent does the task or a plan: what it hands over is then open too."""
    if task.agent is not None or task.lane is not None or task.uses is not None:
        return False
    return not is_present(task.origin.at("agent")) and not is_present(task.origin.at("lane"))


def _look_up(origin: Origin) -> Any:
    value = origin.document.value
    for depth, step in enumerate(origin.path, start=1):
        name = origin.document.renames.get(origin.path[:depth], step)
        is_there = name in value if isinstance(value, dict) else isinstance(value, list) and name in range(len(value))
        if not is_there:
            return _NOTHING
        value = value[name]
    return value
