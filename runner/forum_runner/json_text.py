"""Reads JSON text as RFC 8259 has it, without the liberties of Python's parser."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn


class RepeatedKeyError(ValueError):
    """An object gives a key twice: another reader would take another of the values."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the key '{key}' is given twice")


def read_json_text(text: str) -> Any:
    """The value; a ValueError for what is not JSON, and for a key that is given twice."""
    return json.loads(text, object_pairs_hook=each_key_once, parse_constant=refuse_constant)


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RepeatedKeyError(_first_repeated(pairs))
    return found


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    counts = Counter(key for key, _ in pairs)
    return next(key for key, count in counts.items() if count > 1)


def refuse_constant(name: str) -> NoReturn:
    """NaN and Infinity, which Python takes for numbers."""
    raise ValueError(f"{name} is not JSON")
