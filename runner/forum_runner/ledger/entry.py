"""An entry on its way to its line: what could not be read back as it was given is refused here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from forum_runner.canonical import MAX_INTEGER, canonical
from forum_runner.errors import CanonicalError, ForumError
from forum_runner.ledger.entry_schema import MAX_BODIES, OWN_PREFIX, departure_from, fits, kinds, parts_validator
from forum_runner.ledger.layout import MAX_CAUSES, MAX_DEPTH, MAX_LINE_BYTES

# A float such as 1.0 in orjson's text: a schema takes it for an integer. Every other float fails the schemas of the
# closed kinds. In a string such text is harmless, and only looked at twice.
FLOAT = re.compile(rb"\.0[,\]}]")
_INTEGERS = frozenset({int})
_SORTED = orjson.OPT_SORT_KEYS
_dumps = orjson.dumps


class EntryError(ForumError):
    """An entry that cannot be stored: no ledger takes it, and nothing of it is written."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"cannot store an entry of the kind '{kind}': {reason}")


def encode_entry(entry: dict[str, Any]) -> bytes:
    """The line of an entry, without its LF. Its members are given in their order, and `bodies` by their references."""
    kind, causes = entry["kind"], entry["causes"]
    try:
        entry["data"] = _checked(entry["seq"], entry["actor"], kind, causes, entry["data"], entry["bodies"])
    except (orjson.JSONEncodeError, CanonicalError, ValueError) as error:
        raise EntryError(kind, str(error)) from error
    entry["causes"] = sorted(set(causes))
    return encode_sound_entry(entry)


def encode_sound_entry(entry: dict[str, Any]) -> bytes:
    """The same, of an entry that is known to fit its kind: neither its schema nor its causes are looked at."""
    try:
        line = _dumps(entry, option=_SORTED)
    except orjson.JSONEncodeError as error:
        raise EntryError(entry["kind"], str(error)) from error
    if len(line) > MAX_LINE_BYTES:
        size = f"{len(line):,} bytes, and {MAX_LINE_BYTES:,} are allowed"
        raise EntryError(entry["kind"], f"its line would have {size}")
    return line


def _checked(
    seq: int, actor: str, kind: str, causes: Sequence[int], data: Mapping[str, Any], bodies: Mapping[str, Any]
) -> orjson.Fragment:
    """The data, written, of an entry all parts of which were looked at."""
    is_own = _is_own(actor, kind)
    _check_causes(causes, seq, kind)
    return orjson.Fragment((_own_data if is_own else _data)(kind, data, bodies))


@lru_cache(maxsize=1024)
def _is_own(actor: str, kind: str) -> bool:
    """Whether the kind is one of the user's own; the actor and the kind are such as there are."""
    if not fits("actor", actor):
        raise EntryError(kind, f"{actor!r} is no actor: `runner`, or `agent:` or `person:` and a name without spaces")
    is_own = kind.startswith(OWN_PREFIX) and fits("kind", kind)
    if not is_own and kind not in kinds():
        raise EntryError(kind, "there is no such kind; your own begin with 'x-'")
    return is_own


def _check_causes(causes: Sequence[int], seq: int, kind: str) -> None:
    if not isinstance(causes, list | tuple):
        raise EntryError(kind, "causes is a list of the seqs of earlier entries")
    if not _INTEGERS.issuperset(map(type, causes)):
        raise EntryError(kind, "causes are the seqs of earlier entries")
    if causes and (min(causes) < 0 or max(causes) >= seq or len(set(causes)) > MAX_CAUSES):
        raise EntryError(kind, f"causes are not earlier entries, at most {MAX_CAUSES:,}")


def _data(kind: str, data: Mapping[str, Any], bodies: Mapping[str, Any]) -> bytes:
    validator = parts_validator(kind)
    parts = {"data": data, "bodies": bodies}
    if not validator.is_valid(parts):
        raise EntryError(kind, departure_from(validator, parts) or "it does not fit its schema")
    written = orjson.dumps(data, option=_SORTED)
    if FLOAT.search(written):
        _check_values(kind, data)
    return written


def _own_data(kind: str, data: Mapping[str, Any], bodies: Mapping[str, Any]) -> bytes:
    """A kind of one's own has any data; that its bodies have a form that fits is quicker seen without a schema."""
    if not isinstance(data, dict):
        raise EntryError(kind, f"its data is a {type(data).__name__}, and not a dict")
    for name, body in bodies.items():
        _check_own_body(kind, name, body["type"])
    if len(bodies) > MAX_BODIES:
        raise EntryError(kind, f"it has {len(bodies)} bodies, and {MAX_BODIES} are allowed")
    has_plain_keys = _is_flat(data) or _check_values(kind, data)
    return orjson.dumps(data, option=_SORTED) if has_plain_keys else canonical(data)


@lru_cache(maxsize=1024)
def _check_own_body(kind: str, name: str, type_: str) -> None:
    if not fits("name", name):
        raise EntryError(kind, f"{name!r} is no name of a body: lower-case letters, digits and '_'")
    if not fits("type", type_):
        raise EntryError(kind, f"{type_!r} is no media type, such as text/plain")


def _is_flat(data: Mapping[str, Any]) -> bool:
    """Whether the data is as most is: short texts and integers in range, under ASCII keys."""
    for key, value in data.items():
        if type(key) is not str or not key.isascii():
            return False
        if type(value) is not str and (type(value) is not int or not -MAX_INTEGER <= value <= MAX_INTEGER):
            return False
    return True


def _check_values(kind: str, data: Any) -> bool:
    """Refuses depth, and all but integers in range; says whether orjson sorts the keys as RFC 8785 does."""
    has_plain_keys = True
    level = [data]
    depth = 1
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise EntryError(kind, f"its data is nested more than {MAX_DEPTH} deep")
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                if not all(type(key) is str for key in item):
                    raise EntryError(kind, "a key is not a string")
                has_plain_keys = has_plain_keys and "".join(item).isascii()
                below += [value for value in item.values() if type(value) is not str]
            elif isinstance(item, list):
                below += [value for value in item if type(value) is not str]
            else:
                _check_scalar(kind, item)
        level = below
    return has_plain_keys


def _check_scalar(kind: str, value: Any) -> None:
    if value is None or type(value) in (bool, str):
        return
    if type(value) is not int:
        raise EntryError(
            kind, f"{value!r} is a {type(value).__name__}: data holds text, integers, true, false and null"
        )
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise EntryError(kind, f"{value} is beyond ±(2^53 - 1), so another reader would see another number")
