"""An entry as a reader finds it: good enough to be told about, whether or not it would pass a verifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson

from forum_runner.ledger.layout import MAX_DEPTH

SEAL = "run.sealed"
# What is done to a record when nobody is at work on the run, and is no part of the run.
OF_THE_RECORD = frozenset({"body.redacted", "run.repaired"})
_MEMBERS = itemgetter("run", "seq", "at", "actor", "kind", "causes", "data", "bodies")
_TYPES = (str, int, str, str, str, list, dict, dict)


@dataclass(frozen=True, slots=True)
class ReadEntry:
    """The members have the types given here; what stands in `data` and `bodies` may be anything."""

    run: str
    seq: int
    at: str
    actor: str
    kind: str
    causes: Sequence[int]
    data: Mapping[str, Any]
    bodies: Mapping[str, Any]

    @property
    def task(self) -> str | None:
        return text(self.data, "task")


def is_import(first: ReadEntry) -> bool:
    """Whether the first entry says that the ledger was made from the records of another program."""
    return first.data.get("mode") == "imported"


def read_entry(line: bytes) -> ReadEntry | None:
    """The entry of a line, or None for a line that is none."""
    try:
        value = orjson.loads(line)
        members = _MEMBERS(value)
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return None
    if tuple(map(type, members)) != _TYPES or _is_too_deep(line, value):
        return None
    entry = ReadEntry(*members)
    return entry if entry.seq >= 0 and set(map(type, entry.causes)) <= {int} else None


def _is_too_deep(line: bytes, value: Any) -> bool:
    """Whether it is nested deeper than lines may be, and than whoever shows it could follow."""
    if line.count(b"{") + line.count(b"[") <= MAX_DEPTH:
        return False
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for outer in level for item in _items(outer)]
    return bool(level)


def _items(value: Any) -> Iterable[Any]:
    inner = value.values() if type(value) is dict else value
    return (item for item in inner if type(item) is dict or type(item) is list)


def text(data: Mapping[str, Any], name: str) -> str | None:
    value = data.get(name)
    return value if type(value) is str else None


def amount(data: Mapping[str, Any], name: str) -> int:
    """A whole number; 0 for what is not there or is none."""
    value = data.get(name)
    return value if type(value) is int and value >= 0 else 0


def part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A mapping inside a mapping; an empty one for what is not there or is none."""
    value = data.get(name)
    return value if type(value) is dict else {}


def parts(data: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    value = data.get(name)
    yield from (item for item in (value if type(value) is list else ()) if type(item) is dict)
