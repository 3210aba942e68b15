"""Values of the wave plan, which are made from outputs (LEDGER-SEMANTICS-018)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from forum_runner.manifest.pointer import look_up


class NoValueError(Exception):
    """The value does not exist: a task has no output, or a pointer has no target."""


class Outputs(Protocol):
    """The outputs that values are made from."""

    def value(self, unit: str) -> Any:
        """The output of the unit. Raises a NoValueError if it has none."""
        ...

    def passed_instances(self, task: str) -> Sequence[str]:
        """The instances of a task with `foreach` that passed, in order."""
        ...


class PlanValue(ABC):
    """With `select`, even an empty one, the value is JSON; without it, an output is used unchanged."""

    __slots__ = ()
    select: str | None

    def evaluate(self, outputs: Outputs) -> Any:
        return _select(self._whole(outputs), self.select)

    @abstractmethod
    def _whole(self, outputs: Outputs) -> Any:
        """The value from which `select` takes a part."""

    @abstractmethod
    def sources(self) -> Iterator[tuple[str, bool]]:
        """The tasks that the value names, each with whether it means all instances."""

    @abstractmethod
    def pointers(self, task: str) -> Iterator[str]:
        """The pointers that select parts of the task's output."""

    def tasks(self) -> Iterator[str]:
        return (name for name, _ in self.sources())


@dataclass(frozen=True, slots=True)
class TaskOutput(PlanValue):
    select: str | None
    task: str

    def _whole(self, outputs: Outputs) -> Any:
        return outputs.value(self.task)

    def sources(self) -> Iterator[tuple[str, bool]]:
        yield self.task, False

    def pointers(self, task: str) -> Iterator[str]:
        if task == self.task:
            yield self.select or ""


@dataclass(frozen=True, slots=True)
class InstanceOutputs(PlanValue):
    """The part at `item` of the output of every instance that passed."""

    select: str | None
    task: str
    item: str

    def _whole(self, outputs: Outputs) -> Any:
        return _all(lambda unit: _select(outputs.value(unit), self.item), outputs.passed_instances(self.task))

    def sources(self) -> Iterator[tuple[str, bool]]:
        yield self.task, True

    def pointers(self, task: str) -> Iterator[str]:
        if task == self.task:
            yield self.item


@dataclass(frozen=True, slots=True)
class ListValue(PlanValue):
    select: str | None
    parts: tuple[PlanValue, ...]

    def _whole(self, outputs: Outputs) -> Any:
        return _all(lambda part: part.evaluate(outputs), self.parts)

    def sources(self) -> Iterator[tuple[str, bool]]:
        return (source for part in self.parts for source in part.sources())

    def pointers(self, task: str) -> Iterator[str]:
        return (pointer for part in self.parts for pointer in part.pointers(task))


@dataclass(frozen=True, slots=True)
class ObjectValue(PlanValue):
    select: str | None
    members: Mapping[str, PlanValue]

    def _whole(self, outputs: Outputs) -> Any:
        values = _all(lambda part: part.evaluate(outputs), self.members.values())
        return dict(zip(self.members, values, strict=True))

    def sources(self) -> Iterator[tuple[str, bool]]:
        return (source for part in self.members.values() for source in part.sources())

    def pointers(self, task: str) -> Iterator[str]:
        return (pointer for part in self.members.values() for pointer in part.pointers(task))


def read_value(document: Mapping[str, Any]) -> PlanValue:
    select = document.get("select")
    if "task" in document:
        return TaskOutput(select, document["task"])
    if "each" in document:
        return InstanceOutputs(select, document["each"], document.get("item", ""))
    if "list" in document:
        return ListValue(select, tuple(read_value(part) for part in document["list"]))
    return ObjectValue(select, {name: read_value(part) for name, part in document["object"].items()})


def _all(make: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """All values. Raises a NoValueError only after reading all items: an unreadable output takes precedence."""
    made: list[Any] = []
    missing: NoValueError | None = None
    for item in items:
        try:
            made.append(make(item))
        except NoValueError as error:
            missing = missing or error
    if missing is not None:
        raise missing
    return made


def _select(value: Any, pointer: str | None) -> Any:
    if not pointer:
        return value
    try:
        return look_up(value, pointer)
    except KeyError as error:
        raise NoValueError(f"no value at '{pointer}'") from error
