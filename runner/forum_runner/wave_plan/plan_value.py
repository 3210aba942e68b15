"""Values of the wave plan, which are derived from the outputs of tasks (LEDGER-SEMANTICS-018)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from forum_runner.manifest.pointer import look_up


class NoValueError(Exception):
    """The value does not exist: a task has no output, an output cannot be decoded, or a pointer has no target."""


class Outputs(Protocol):
    """The outputs that values are derived from."""

    def value(self, unit: str) -> Any:
        """The output of the unit. Raises a NoValueError if it has none."""
        ...

    def passed_instances(self, task: str) -> Sequence[str]:
        """The instances of a task with `foreach` that passed, in order."""
        ...


class ValueSource(NamedTuple):
    """A task that a value depends on, and the pointer to the part of its output, or of each instance's output."""

    task: str
    pointer: str
    is_foreach: bool


class PlanValue(ABC):
    """A value of the plan. With `select`, even an empty one, it is JSON; otherwise, an output is used unchanged."""

    __slots__ = ()
    select: str | None

    def evaluate(self, outputs: Outputs) -> Any:
        return _select(self._unselected(outputs), self.select)

    @abstractmethod
    def _unselected(self, outputs: Outputs) -> Any:
        """The value from which `select` takes a part."""

    @abstractmethod
    def sources(self) -> Iterator[ValueSource]:
        """The tasks that the value depends on. A task may occur several times."""

    def tasks(self) -> Iterator[str]:
        return (source[0] for source in self.sources())


@dataclass(frozen=True, slots=True)
class TaskOutput(PlanValue):
    """The output of a task."""

    select: str | None
    task: str

    def _unselected(self, outputs: Outputs) -> Any:
        return outputs.value(self.task)

    def sources(self) -> Iterator[ValueSource]:
        yield ValueSource(self.task, self.select or "", False)


@dataclass(frozen=True, slots=True)
class InstanceOutputs(PlanValue):
    """A list: the part at the pointer `item` of the output of every instance that passed."""

    select: str | None
    task: str
    item: str

    def _unselected(self, outputs: Outputs) -> Any:
        return _collect(lambda unit: _select(outputs.value(unit), self.item), outputs.passed_instances(self.task))

    def sources(self) -> Iterator[ValueSource]:
        yield ValueSource(self.task, self.item, True)


@dataclass(frozen=True, slots=True)
class CompositeValue(PlanValue):
    """A list of values or, if they have `names`, an object."""

    select: str | None
    parts: tuple[PlanValue, ...]
    names: tuple[str, ...] | None = None

    def _unselected(self, outputs: Outputs) -> Any:
        values = _collect(lambda part: part.evaluate(outputs), self.parts)
        return values if self.names is None else dict(zip(self.names, values, strict=True))

    def sources(self) -> Iterator[ValueSource]:
        return (source for part in self.parts for source in part.sources())


def read_value(document: Mapping[str, Any]) -> PlanValue:
    """The value that a member of the wave plan describes."""
    select = document.get("select")
    if "task" in document:
        return TaskOutput(select, document["task"])
    if "each" in document:
        return InstanceOutputs(select, document["each"], document.get("item", ""))
    if "list" in document:
        return CompositeValue(select, tuple(read_value(part) for part in document["list"]))
    members = document["object"]
    return CompositeValue(select, tuple(read_value(part) for part in members.values()), tuple(members))


def _collect(evaluate: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """The values of all items. Raises a NoValueError after the last item: an unreadable output takes precedence."""
    values: list[Any] = []
    missing: NoValueError | None = None
    for item in items:
        try:
            values.append(evaluate(item))
        except NoValueError as error:
            missing = missing or error
    if missing is not None:
        raise missing
    return values


def _select(value: Any, pointer: str | None) -> Any:
    if not pointer:
        return value
    try:
        return look_up(value, pointer)
    except KeyError as error:
        raise NoValueError(f"no value at '{pointer}'") from error
