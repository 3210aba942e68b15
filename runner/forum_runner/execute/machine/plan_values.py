"""Values of the plan, made from what tasks put out (LEDGER-SEMANTICS-018)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import orjson

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.ledger.body import JSON, Body
from forum_runner.ledger.recorded_body import RedactedBodyError, StoredBytes
from forum_runner.manifest.pointer import look_up


class Unmakeable(Exception):
    """The value cannot be made: a pointer leads nowhere, the result has no canonical form, or a body was redacted."""


class Output:
    """What a task put out. It is parsed when somebody first looks inside."""

    __slots__ = ("_value", "body")

    def __init__(self, body: StoredBytes) -> None:
        self.body = body

    @property
    def value(self) -> Any:
        try:
            return self._value
        except AttributeError:
            self._value: Any = self._parsed()
            return self._value

    def _parsed(self) -> Any:
        return orjson.loads(self.body.data) if self.body.type == JSON else self.body.data.decode()


class Outputs(Protocol):
    """The outputs that values are made of."""

    def output(self, task: str) -> Output: ...

    def instances(self, task: str) -> Sequence[Output]:
        """Of a task with a `foreach`: the outputs of the instances that passed, in order."""
        ...


def make_value(value: Mapping[str, Any], outputs: Outputs) -> Body:
    """The body of a value: an output as it is, to the byte, or else the RFC 8785 form of what was made of outputs."""
    is_sensitive = False

    def read(output: Output) -> Any:
        nonlocal is_sensitive
        is_sensitive = is_sensitive or output.body.is_sensitive
        return output.value

    try:
        if len(value) == 1 and "task" in value:
            body = outputs.output(value["task"]).body
            return Body(body.data, body.type, body.is_sensitive)
        return Body(canonical(_evaluate(value, outputs, read)), JSON, is_sensitive)
    except CanonicalError as error:
        raise Unmakeable("it has no canonical form") from error
    except RedactedBodyError as error:
        raise Unmakeable(str(error)) from error


def look_at(value: Mapping[str, Any], outputs: Outputs) -> Any:
    """The value itself, for a condition."""
    try:
        return _evaluate(value, outputs, lambda output: output.value)
    except RedactedBodyError as error:
        raise Unmakeable(str(error)) from error


def _evaluate(value: Mapping[str, Any], outputs: Outputs, read: Callable[[Output], Any]) -> Any:
    made: Any
    if "task" in value:
        made = read(outputs.output(value["task"]))
    elif "each" in value:
        item = value.get("item", "")
        made = [_select(read(output), item) for output in outputs.instances(value["each"])]
    elif "list" in value:
        made = [_evaluate(part, outputs, read) for part in value["list"]]
    else:
        made = {name: _evaluate(part, outputs, read) for name, part in value["object"].items()}
    return _select(made, value.get("select", ""))


def _select(value: Any, pointer: str) -> Any:
    if not pointer:
        return value
    try:
        return look_up(value, pointer)
    except KeyError as error:
        raise Unmakeable(f"nothing is found at '{pointer}'") from error
