"""Values that edges, foreaches and outputs of the plan take from task outputs (LEDGER-SEMANTICS-018)."""

import re
from collections.abc import Iterator
from typing import Any

from forum_conformance import canonical
from forum_conformance.body_references import Body
from forum_conformance.semantics.plan import Value
from forum_conformance.semantics.state import Run

_INDEX = re.compile(r"0|[1-9][0-9]*")
# Python refuses to parse very long integers.
_MAX_INDEX_DIGITS = 19


class NoValue(Exception):
    """The value cannot be computed, so no body can match it."""


class CannotCompare(Exception):
    """A body is redacted, missing or altered, so the value cannot be checked."""


def is_value(run: Run, value: Value, body: Body) -> bool:
    """Whether the body matches the value. True if they cannot be compared: that is not a finding."""
    try:
        if set(value) == {"task"}:
            return _plain_digest(run, _output(run, value["task"])) == _plain_digest(run, body)
        computed = _compute(run, value)
        if canonical.value_depth(computed) > canonical.MAX_DEPTH:
            return False
        return canonical.digest(canonical.form(computed)) == _plain_digest(run, body)
    except NoValue:
        return False
    except CannotCompare:
        return True


def can_compute(run: Run, value: Value) -> bool:
    """Whether the value can be computed from the readable bodies."""
    try:
        if set(value) == {"task"}:
            return run.store.plain_digest(_output(run, value["task"])) is not None
        return canonical.value_depth(_compute(run, value)) <= canonical.MAX_DEPTH
    except (NoValue, CannotCompare):
        return False


def has_digest(run: Run, body: Body, digest: str) -> bool:
    """Whether the body's bytes have the digest. True if this cannot be checked."""
    try:
        return _plain_digest(run, body) == digest
    except CannotCompare:
        return True


def read_items(run: Run, items: Body) -> tuple[str, ...] | None:
    """The digests of the canonical items of a list; None if its body is redacted, missing or altered.

    Raises NoValue if the body is not a list in RFC 8785 form.
    """
    data = run.store.read(items)
    if data is None:
        return None
    try:
        value = canonical.read_form(data)
    except canonical.NotCanonical as error:
        raise NoValue from error
    if not isinstance(value, list):
        raise NoValue
    return tuple(canonical.digest(canonical.form(item)) for item in value)


def _plain_digest(run: Run, body: Body) -> str:
    """The SHA-256 of the body's bytes. A salted body has a different digest, so its bytes must be readable."""
    if not body.is_salted:
        return body.digest
    digest = run.store.plain_digest(body)
    if digest is None:
        raise CannotCompare
    return digest


def _compute(run: Run, value: Value) -> Any:
    # Check all outputs first: if one is unavailable, the value cannot be checked, even if another one has a fault.
    if any(run.store.plain_digest(output) is None for output in _outputs(run, value)):
        raise CannotCompare
    return _compute_part(run, value)


def _outputs(run: Run, value: Value) -> Iterator[Body]:
    if "task" in value:
        yield _output(run, value["task"])
    elif "each" in value:
        yield from _outputs_of_instances(run, value["each"])
    else:
        for part in value["object"].values() if "object" in value else value["list"]:
            yield from _outputs(run, part)


def _compute_part(run: Run, value: Value) -> Any:
    computed: Any
    if "task" in value:
        computed = _json(run, _output(run, value["task"]))
    elif "each" in value:
        item = value.get("item", "")
        computed = [_select(_json(run, output), item) for output in _outputs_of_instances(run, value["each"])]
    elif "list" in value:
        computed = [_compute_part(run, part) for part in value["list"]]
    else:
        computed = {name: _compute_part(run, part) for name, part in value["object"].items()}
    return _select(computed, value.get("select", ""))


def _output(run: Run, task: str) -> Body:
    unit = run.unit(task)
    if unit is None or unit.output is None:
        raise NoValue
    return unit.output


def _outputs_of_instances(run: Run, task: str) -> Iterator[Body]:
    if task not in run.expansions:
        raise NoValue
    for unit in run.expansions[task].passed_units():
        if unit.output:
            yield unit.output


def _json(run: Run, output: Body) -> Any:
    data = run.store.read(output)
    if data is None:
        raise CannotCompare
    try:
        return canonical.read_form(data) if output.type == "application/json" else data.decode("utf-8")
    except (canonical.NotCanonical, UnicodeDecodeError) as error:
        raise NoValue from error


def _select(value: Any, pointer: str) -> Any:
    """The part of a value that a JSON Pointer (RFC 6901) refers to."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif (
            isinstance(value, list)
            and _INDEX.fullmatch(key)
            and len(key) <= _MAX_INDEX_DIGITS
            and int(key) < len(value)
        ):
            value = value[int(key)]
        else:
            raise NoValue
    return value
