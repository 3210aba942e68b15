"""Where in a value a validator objects to something."""

from typing import Any

import jsonschema_rs

from forum_runner.document import Path, Step


def instance_path(error: jsonschema_rs.ValidationError, value: Any) -> Path:
    """The path in the value that was validated. The validator gives names that look like numbers as numbers."""
    path: list[Step] = []
    for step in error.instance_path:
        name = _name(step, value) if isinstance(value, dict) else step
        path.append(name)
        value = value[name]
    return tuple(path)


def _name(step: Step, value: dict[str, Any]) -> str:
    if not isinstance(step, int) or str(step) in value:
        return str(step)
    # Short enough to be one, or it would not have been taken for a number.
    return next(name for name in value if len(name) <= 20 and name.isdecimal() and int(name) == step)
