"""A cache for a setting that every attempt carries, so that it is parsed only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """Caches the parsed form of the last value. Values must not change in place."""

    def __init__(self, parse: Callable[[Any], T]) -> None:
        self._parse = parse
        self._value: Any = None
        self._result: T | None = None

    def get(self, value: Any) -> T:
        if self._result is None or value is not self._value:
            # An attempt from another process carries an equal copy. Comparing is cheaper than parsing.
            if self._result is None or value != self._value:
                self._result = self._parse(value)
            self._value = value
        return self._result
