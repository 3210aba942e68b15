"""What stands in a file, sound or not: a field that is wrong has its finding, and must not be missed as well."""

from typing import Any

from forum_runner.document import Origin

_NOTHING = object()


def is_written(origin: Origin) -> bool:
    return _look_up(origin) is not _NOTHING


def as_written(origin: Origin) -> Any:
    """The value as the file has it; None if there is none."""
    value = _look_up(origin)
    return None if value is _NOTHING else value


def _look_up(origin: Origin) -> Any:
    value = origin.document.value
    for depth, step in enumerate(origin.path, start=1):
        name = origin.document.renames.get(origin.path[:depth], step)
        is_there = name in value if isinstance(value, dict) else isinstance(value, list) and name in range(len(value))
        if not is_there:
            return _NOTHING
        value = value[name]
    return value
