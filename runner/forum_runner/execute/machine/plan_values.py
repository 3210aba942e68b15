"""Values of the plan, made from what tasks put out (LEDGER-SEMANTICS-018)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

import orjson

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError, UsageError
from forum_runner.ledger.body import JSON, Body
from forum_runner.manifest.pointer import look_up


@dataclass(frozen=True, slots=True)
class RecordedBody:
    """A body of a ledger: its bytes stay in the archive until they are asked for."""

    digest: str
    type: str
    is_sensitive: bool
    read: Callable[[], bytes]

    @property
    def data(self) -> bytes:
        return self.read()


# A body that is about to be recorded, or that was.
StoredBytes = Body | RecordedBody


class Unmakeable(Exception):
    """The value cannot be made: a pointer leads nowhere, what was made has no canonical form, or a body is gone."""


class RedactedBodyError(Unmakeable, UsageError):
    """A body that is needed was redacted: nothing can be made of it, and a command that cannot do without it ends."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(f"the body {digest} is needed, and was redacted")


def bytes_left(body: StoredBytes | None) -> bytes:
    """The bytes of a body that is good to have, and not needed; none if there is none, or it was redacted."""
    try:
        return b"" if body is None else body.data
    except RedactedBodyError:
        return b""


def body_digest(body: StoredBytes) -> str:
    """The digest of a body that was recorded, or of a plain one that is about to be."""
    return sha256(body.data).hexdigest() if isinstance(body, Body) else body.digest


def content_digest(body: StoredBytes) -> str:
    """As `body_digest`, and the same for a body that was recorded with a salt; empty for one that is redacted."""
    if isinstance(body, Body) or not body.is_sensitive:
        return body_digest(body)
    content = bytes_left(body)
    return sha256(content).hexdigest() if content else ""


def check_is_there(body: StoredBytes) -> None:
    """A RedactedBodyError if the body was redacted since it was recorded; one that this process made is there."""
    if isinstance(body, RecordedBody):
        body.read()


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
    if len(value) == 1 and "task" in value:
        body = outputs.output(value["task"]).body
        return Body(body.data, body.type, body.is_sensitive)
    is_sensitive = False

    def read(output: Output) -> Any:
        nonlocal is_sensitive
        is_sensitive = is_sensitive or output.body.is_sensitive
        return output.value

    try:
        return Body(canonical(_evaluate(value, outputs, read)), JSON, is_sensitive)
    except CanonicalError as error:
        raise Unmakeable("it has no canonical form") from error


def look_at(value: Mapping[str, Any], outputs: Outputs) -> Any:
    """The value itself, for a condition."""
    return _evaluate(value, outputs, lambda output: output.value)


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
