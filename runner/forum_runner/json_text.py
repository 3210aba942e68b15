"""Reads JSON strictly by RFC 8259: Python's parser accepts more."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn


class RepeatedKeyError(ValueError):
    """An object has a duplicate key: parsers disagree on its value."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"duplicate key '{key}'")


def read_json_text(text: str) -> Any:
    """The value of JSON text. Raises ValueError for invalid JSON and duplicate keys."""
    return json.loads(text, object_pairs_hook=without_duplicate_keys, parse_constant=refuse_constant)


def without_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise RepeatedKeyError(next(key for key, count in counts.items() if count > 1))
    return members


def refuse_constant(name: str) -> NoReturn:
    """Rejects NaN and Infinity, which Python accepts as numbers."""
    raise ValueError(f"{name} is not JSON")
