"""Where in a value a validator objects to something."""

from typing import Any

import jsonschema_rs

from forum_runner.document import Path, Step


def instance_path(error: jsonschema_rs.ValidationError, value: Any) -> Path:
    """The path in the value that was validated. The validator gives names that look like numbers as numbers."""
    path: list[Step] = []
    for step in error.instance_path:
        if isinstance(value, dict):
            name = _name(step, value)
            path.append(name)
            value = value.get(name)
        else:
            path.append(step)
            value = value[step] if isinstance(value, list) and isinstance(step, int) else None
    return tuple(path)


def _name(step: Step, value: dict[str, Any]) -> str:
    if not isinstance(step, int) or str(step) in value:
        return str(step)
    # `01` is given as 1 too. What is longer than the largest number is never taken for one.
    same = (name for name in value if len(name) <= 20 and name.isdecimal() and int(name) == step)
    return next(same, str(step))
