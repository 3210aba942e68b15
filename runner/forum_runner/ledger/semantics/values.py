"""Values of the plan, made from what tasks put out: is a body that was handed over the one that the plan asks for?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from forum_runner.canonical import canonical
from forum_runner.errors import CanonicalError
from forum_runner.ledger.body import JSON
from forum_runner.ledger.json_body import read_json
from forum_runner.ledger.semantics.state import Reference, RunState
from forum_runner.manifest.pointer import look_up


class _Unknown(Exception):
    """A body that the value is made of cannot be read: nothing is settled."""


class _Impossible(Exception):
    """The value cannot be made, so no body is the value."""


def is_value(state: RunState, value: Mapping[str, Any], body: Reference) -> bool:
    """Whether a body is the value. What cannot be read settles nothing, and passes."""
    try:
        if value.keys() == {"task"}:
            return _is_same(state, _output(state, value["task"]), body)
        return has_bytes(state, body, canonical(_evaluate(state, value)))
    except _Unknown:
        return True
    except (_Impossible, CanonicalError):
        return False


def can_be_made(state: RunState, value: Mapping[str, Any]) -> bool:
    """Whether there is a value at all, for all that can be read."""
    try:
        if value.keys() == {"task"}:
            _read(state, _output(state, value["task"]))
        else:
            canonical(_evaluate(state, value))
    except (_Unknown, _Impossible, CanonicalError):
        return False
    return True


def read_items(state: RunState, body: Reference) -> list[Any] | None:
    """The list that a foreach was expanded from, or None if it cannot be read; a ValueError if it is no list."""
    try:
        items = _in_form(_read(state, body))
    except _Unknown:
        return None
    except _Impossible as error:
        raise ValueError("the items cannot be read as JSON") from error
    if not isinstance(items, list):
        raise ValueError("the items are no list")
    return items


def has_digest(state: RunState, body: Reference, digest: bytes) -> bool:
    """Whether a body has the bytes of this digest."""
    if "salted" not in body:
        return bool(body["digest"] == digest.hex())
    found = state.bodies.read(dict(body))
    return found is None or hashlib.sha256(found).digest() == digest


def has_bytes(state: RunState, body: Reference, expected: bytes) -> bool:
    if "salted" not in body:
        return bool(hashlib.sha256(expected).hexdigest() == body["digest"])
    found = state.bodies.read(dict(body))
    return found is None or found == expected


def _is_same(state: RunState, output: Reference, body: Reference) -> bool:
    if output["digest"] == body["digest"]:
        return True
    if "salted" in output:
        return has_bytes(state, body, _read(state, output))
    # A plain body has the bytes of its digest, whether it is there or not.
    found = _read(state, body) if "salted" in body else None
    return found is not None and hashlib.sha256(found).hexdigest() == output["digest"]


def _evaluate(state: RunState, value: Mapping[str, Any]) -> Any:
    made: Any
    if "task" in value:
        made = _json(state, _output(state, value["task"]))
    elif "each" in value:
        passed = [unit for unit in state.instances(value["each"]) if unit.state == "passed"]
        made = _made(lambda unit: _select(_json(state, _output(state, unit.name)), value.get("item", "")), passed)
    elif "list" in value:
        made = _made(lambda part: _evaluate(state, part), value["list"])
    else:
        parts = _made(lambda part: _evaluate(state, part), value["object"].values())
        made = dict(zip(value["object"], parts, strict=True))
    return _select(made, value.get("select", ""))


def _made(make: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    """All parts. One that cannot be read weighs more than one that cannot be made: then nothing is settled."""
    made: list[Any] = []
    impossible = False
    for part in parts:
        try:
            made.append(make(part))
        except _Impossible:
            impossible = True
    if impossible:
        raise _Impossible
    return made


def _output(state: RunState, name: str) -> Reference:
    unit = state.units.get(name)
    if unit is None or unit.output is None:
        raise _Impossible
    return unit.output


def _read(state: RunState, body: Reference) -> bytes:
    data = state.bodies.read(dict(body))
    if data is None:
        raise _Unknown
    return data


def _json(state: RunState, body: Reference) -> Any:
    data = _read(state, body)
    if body["type"] == JSON:
        return _in_form(data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _Impossible from error


def _in_form(data: bytes) -> Any:
    try:
        return read_json(data)
    except (ValueError, RecursionError, CanonicalError) as error:
        raise _Impossible from error


def _select(value: Any, pointer: str) -> Any:
    try:
        return look_up(value, pointer)
    except KeyError as error:
        raise _Impossible from error
