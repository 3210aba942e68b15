"""Reads a setting once, although every attempt carries it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """Remembers the result for the last value. Values must not change in place."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._value: Any = None
        self._result: T | None = None

    def of(self, value: Any) -> T:
        if self._result is None or value is not self._value:
            # An attempt from another process carries an equal copy. Comparing is cheaper than reading.
            if self._result is None or value != self._value:
                self._result = self._read(value)
            self._value = value
        return self._result
