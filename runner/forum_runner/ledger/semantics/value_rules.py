"""Whether a recorded body is the value that the plan asks for."""

from __future__ import annotations

import hashlib
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.ledger.body import JSON
from forum_runner.ledger.json_body import read_json
from forum_runner.ledger.semantics.checked_run import CheckedRun, Reference
from forum_runner.wave_plan.plan_value import NoValueError, PlanValue, TaskOutput


class _Unknown(Exception):
    """A body that the value is made of cannot be read, so the value is unknown."""


def is_value(run: CheckedRun, value: PlanValue, body: Reference) -> bool:
    """Whether a body is the value. An unknown value passes."""
    try:
        if isinstance(value, TaskOutput) and value.select is None:
            return _is_same(run, _output(run, value.task), body)
        return has_bytes(run, body, canonical(value.evaluate(_RunOutputs(run))))
    except _Unknown:
        return True
    except (NoValueError, CanonicalError):
        return False


def can_be_made(run: CheckedRun, value: PlanValue) -> bool:
    """Whether the value exists, as far as its bodies can be read."""
    try:
        if isinstance(value, TaskOutput) and value.select is None:
            _read(run, _output(run, value.task))
        else:
            canonical(value.evaluate(_RunOutputs(run)))
    except (_Unknown, NoValueError, CanonicalError):
        return False
    return True


def read_items(run: CheckedRun, body: Reference) -> list[Any] | None:
    """The list that a foreach was expanded from, or None if it cannot be read; a ValueError if it is not a list."""
    try:
        items = _in_form(_read(run, body))
    except _Unknown:
        return None
    except NoValueError as error:
        raise ValueError("the items cannot be read as JSON") from error
    if not isinstance(items, list):
        raise ValueError("the items are not a list")
    return items


def has_digest(run: CheckedRun, body: Reference, digest: bytes) -> bool:
    """Whether a body has the bytes of this digest."""
    if "salted" not in body:
        return bool(body["digest"] == digest.hex())
    found = run.bodies.read(dict(body))
    return found is None or hashlib.sha256(found).digest() == digest


def has_bytes(run: CheckedRun, body: Reference, expected: bytes) -> bool:
    if "salted" not in body:
        return bool(hashlib.sha256(expected).hexdigest() == body["digest"])
    found = run.bodies.read(dict(body))
    return found is None or found == expected


def _is_same(run: CheckedRun, output: Reference, body: Reference) -> bool:
    if output["digest"] == body["digest"]:
        return True
    if "salted" in output:
        return has_bytes(run, body, _read(run, output))
    # A plain body has the bytes of its digest, even if they cannot be read.
    found = _read(run, body) if "salted" in body else None
    return found is not None and hashlib.sha256(found).hexdigest() == output["digest"]


class _RunOutputs:
    """The outputs of a run, as JSON values."""

    def __init__(self, run: CheckedRun) -> None:
        self._run = run

    def value(self, unit: str) -> Any:
        return _json(self._run, _output(self._run, unit))

    def passed_instances(self, task: str) -> list[str]:
        return [unit.name for unit in self._run.instances(task) if unit.state == "passed"]


def _output(run: CheckedRun, name: str) -> Reference:
    unit = run.units.get(name)
    if unit is None or unit.output is None:
        raise NoValueError(f"'{name}' has no output")
    return unit.output


def _read(run: CheckedRun, body: Reference) -> bytes:
    data = run.bodies.read(dict(body))
    if data is None:
        raise _Unknown
    return data


def _json(run: CheckedRun, body: Reference) -> Any:
    data = _read(run, body)
    if body["type"] == JSON:
        return _in_form(data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NoValueError from error


def _in_form(data: bytes) -> Any:
    try:
        return read_json(data)
    except (ValueError, RecursionError, CanonicalError) as error:
        raise NoValueError from error
