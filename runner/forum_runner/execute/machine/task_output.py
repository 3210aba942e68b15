"""The outputs of units, and the bodies that the plan's values make from them (LEDGER-SEMANTICS-018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import orjson

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.ledger.body import JSON, Body
from forum_runner.ledger.recorded_body import AnyBody, RedactedBodyError
from forum_runner.wave_plan.plan_value import NoValueError, PlanValue, TaskOutput


class Output:
    """The output of a unit. It is parsed when its value is first used."""

    __slots__ = ("_value", "body")

    def __init__(self, body: AnyBody) -> None:
        self.body = body

    @property
    def value(self) -> Any:
        try:
            return self._value
        except AttributeError:
            data = self.body.data
            self._value: Any = orjson.loads(data) if self.body.type == JSON else data.decode()
            return self._value


class StoredOutputs(Protocol):
    """The outputs that the plan's values are made from."""

    def output(self, unit: str) -> Output:
        """Raises a NoValueError if the unit has no output."""
        ...

    def passed_instances(self, task: str) -> Sequence[str]:
        """The instances of a task with `foreach` that passed, in order."""
        ...


class _OutputReader:
    """Reads outputs for a value, and notes whether one of them is sensitive."""

    def __init__(self, outputs: StoredOutputs) -> None:
        self._outputs = outputs
        self.passed_instances = outputs.passed_instances
        self.is_sensitive = False

    def value(self, unit: str) -> Any:
        output = self._outputs.output(unit)
        self.is_sensitive = self.is_sensitive or output.body.is_sensitive
        return output.value


def make_body(value: PlanValue, outputs: StoredOutputs) -> Body:
    """The body of a value: the unchanged bytes of an output, or the RFC 8785 form of a value made from outputs."""
    reader = _OutputReader(outputs)
    try:
        if isinstance(value, TaskOutput) and value.select is None:
            body = outputs.output(value.task).body
            return Body(body.data, body.type, body.is_sensitive)
        return Body(canonical(value.evaluate(reader)), JSON, reader.is_sensitive)
    except CanonicalError as error:
        raise NoValueError("it has no canonical form") from error
    except RedactedBodyError as error:
        raise NoValueError(str(error)) from error


def evaluate(value: PlanValue, outputs: StoredOutputs) -> Any:
    """The value that a condition tests."""
    try:
        return value.evaluate(_OutputReader(outputs))
    except RedactedBodyError as error:
        raise NoValueError(str(error)) from error
