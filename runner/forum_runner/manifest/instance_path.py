"""The location of a validation error in the validated value."""

from typing import Any

import jsonschema_rs

from forum_runner.document import Path, Step


def instance_path(error: jsonschema_rs.ValidationError, value: Any) -> Path:
    """The path of the invalid part. Keys that look like numbers stay strings; the validator reports them as numbers."""
    path: list[Step] = []
    for step in error.instance_path:
        if isinstance(value, dict):
            name = _find_name(step, value)
            path.append(name)
            value = value.get(name)
        else:
            path.append(step)
            value = value[step] if isinstance(value, list) and isinstance(step, int) else None
    return tuple(path)


def _find_name(step: Step, value: dict[str, Any]) -> str:
    if not isinstance(step, int) or str(step) in value:
        return str(step)
    # `01` is reported as 1 too. Longer digit strings are never reported as numbers.
    candidates = (name for name in value if len(name) <= 20 and name.isdecimal() and int(name) == step)
    return next(candidates, str(step))
