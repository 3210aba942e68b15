"""JSON Pointers (RFC 6901)."""

import re
from collections.abc import Iterable
from typing import Any

_INDEX = re.compile(r"0|[1-9][0-9]{0,15}")


def tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def join(steps: Iterable[str]) -> str:
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def look_up(value: Any, pointer: str) -> Any:
    """The value at the pointer. Raises KeyError if there is none."""
    for token in tokens(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            raise KeyError(pointer)
    return value
