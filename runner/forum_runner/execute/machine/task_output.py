"""The outputs of units, and the bodies that the plan's values make from them (LEDGER-SEMANTICS-018)."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.ledger.body import JSON, Body
from forum_runner.ledger.recorded_body import AnyBody, RedactedBodyError
from forum_runner.wave_plan.plan_value import NoValueError, Outputs, PlanValue, TaskOutput


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


class StoredOutputs(Outputs, Protocol):
    """The outputs that the plan's values are made from, with their bodies."""

    def output(self, unit: str) -> Output:
        """Raises a NoValueError if the unit has no output."""
        ...


def make_body(value: PlanValue, outputs: StoredOutputs) -> Body:
    """The body of a value: the unchanged bytes of an output, or the RFC 8785 form of a value made from outputs.

    Raises a NoValueError if there is no such value.
    """
    try:
        if isinstance(value, TaskOutput) and value.select is None:
            body = outputs.output(value.task).body
            return Body(body.data, body.type, body.is_sensitive)
        return Body(canonical(value.evaluate(outputs)), JSON, _is_sensitive(value, outputs))
    except CanonicalError as error:
        raise NoValueError("it has no canonical form") from error
    except RedactedBodyError as error:
        raise NoValueError(str(error)) from error


def _is_sensitive(value: PlanValue, outputs: StoredOutputs) -> bool:
    """Whether an output that the value is made from is sensitive."""
    return any(
        outputs.output(unit).body.is_sensitive
        for source in value.sources()
        for unit in (outputs.passed_instances(source.task) if source.is_foreach else (source.task,))
    )
