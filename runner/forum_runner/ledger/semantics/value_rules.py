"""Compares recorded bodies with the values that the plan derives from outputs."""

from __future__ import annotations

import hashlib
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.ledger.body import JSON, read_json
from forum_runner.ledger.entry_values import BodyReference
from forum_runner.ledger.semantics.checked_run import CheckedRun
from forum_runner.wave_plan.plan_value import NoValueError, PlanValue, TaskOutput


class _UnknownValueError(Exception):
    """A body that the value depends on cannot be read."""


def is_value(run: CheckedRun, value: PlanValue, body: BodyReference) -> bool:
    """Whether a body is the value. True if a body that the value depends on cannot be read."""
    try:
        if isinstance(value, TaskOutput) and value.select is None:
            return _is_same(run, _output(run, value.task), body)
        return _has_bytes(run, body, canonical(value.evaluate(_RunOutputs(run))))
    except _UnknownValueError:
        return True
    except (NoValueError, CanonicalError):
        return False


def has_value(run: CheckedRun, value: PlanValue) -> bool:
    """Whether the value exists and its bodies can be read."""
    try:
        if isinstance(value, TaskOutput) and value.select is None:
            _read(run, _output(run, value.task))
        else:
            canonical(value.evaluate(_RunOutputs(run)))
    except (_UnknownValueError, NoValueError, CanonicalError):
        return False
    return True


def read_items(run: CheckedRun, body: BodyReference) -> list[Any] | None:
    """The list that a foreach was expanded from; None if the body cannot be read.

    Raises a ValueError if the body is not a list in RFC 8785 form.
    """
    try:
        items = _canonical_value(_read(run, body))
    except _UnknownValueError:
        return None
    except NoValueError as error:
        raise ValueError("the items are not JSON in RFC 8785 form") from error
    if not isinstance(items, list):
        raise ValueError("the items are not a list")
    return items


def has_digest(run: CheckedRun, body: BodyReference, digest: bytes) -> bool:
    """Whether the bytes of a body have this digest. True if the body is salted and cannot be read."""
    if body.salted is None:
        return body.digest == digest.hex()
    content = run.bodies.read(body)
    return content is None or hashlib.sha256(content).digest() == digest


def _has_bytes(run: CheckedRun, body: BodyReference, expected: bytes) -> bool:
    return has_digest(run, body, hashlib.sha256(expected).digest())


def _is_same(run: CheckedRun, output: BodyReference, body: BodyReference) -> bool:
    if output.digest == body.digest:
        return True
    if output.salted is not None:
        return _has_bytes(run, body, _read(run, output))
    # The digest of a plain body is enough: it identifies the bytes even if they cannot be read.
    return body.salted is not None and hashlib.sha256(_read(run, body)).hexdigest() == output.digest


class _RunOutputs:
    """The outputs of a run, as JSON values."""

    def __init__(self, run: CheckedRun) -> None:
        self._run = run

    def value(self, unit: str) -> Any:
        output = _output(self._run, unit)
        data = _read(self._run, output)
        if output.type == JSON:
            return _canonical_value(data)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise NoValueError from error

    def passed_instances(self, task: str) -> list[str]:
        return [unit.name for unit in self._run.instances(task) if unit.state == "passed"]


def _output(run: CheckedRun, name: str) -> BodyReference:
    unit = run.units.get(name)
    if unit is None or unit.output is None:
        raise NoValueError(f"'{name}' has no output")
    return unit.output


def _read(run: CheckedRun, body: BodyReference) -> bytes:
    data = run.bodies.read(body)
    if data is None:
        raise _UnknownValueError
    return data


def _canonical_value(data: bytes) -> Any:
    try:
        return read_json(data)
    except (ValueError, RecursionError, CanonicalError) as error:
        raise NoValueError from error
