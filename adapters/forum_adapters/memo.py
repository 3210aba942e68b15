"""A setting that every attempt carries, read once and not for every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """What was read from a value, kept until another value comes. A value must not be changed in place."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._value: Any = None
        self._result: T | None = None

    def of(self, value: Any) -> T:
        if self._result is None or value is not self._value:
            # An attempt that comes from another process brings an equal copy: to compare is cheaper than to read.
            if self._result is None or value != self._value:
                self._result = self._read(value)
            self._value = value
        return self._result
