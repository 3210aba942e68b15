"""Reads entries for reports, from any ledger, valid or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson

from forum_runner.ledger.entry_values import BodyReference
from forum_runner.ledger.layout import MAX_DEPTH, is_too_deep

SEAL = "run.sealed"
# Kinds that record work on the ledger itself, and are not part of the run.
MAINTENANCE_KINDS = frozenset({"body.redacted", "run.repaired"})
_MEMBERS = itemgetter("run", "seq", "at", "actor", "kind", "causes", "data", "bodies")
_TYPES = (str, int, str, str, str, list, dict, dict)


@dataclass(frozen=True, slots=True)
class ReadEntry:
    """An entry whose members have the right types. The values inside `data` and `bodies` are not checked."""

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
        """The `task` in the data; None if there is none."""
        return get_str(self.data, "task")


def is_import(first: ReadEntry) -> bool:
    """Whether the ledger was imported from the records of another program, according to its first entry."""
    return first.data.get("mode") == "imported"


def read_entry(line: bytes) -> ReadEntry | None:
    """The entry in a line; None if the line is not an entry."""
    try:
        value = orjson.loads(line)
        members = _MEMBERS(value)
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return None
    if tuple(map(type, members)) != _TYPES:
        return None
    # Reports walk entries recursively, so entries must not be too deep. Counting brackets is faster than walking.
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and is_too_deep(value):
        return None
    entry = ReadEntry(*members)
    return entry if entry.seq >= 0 and set(map(type, entry.causes)) <= {int} else None


def get_str(data: Mapping[str, Any], name: str) -> str | None:
    """A string member; None if it is missing or not a string."""
    value = data.get(name)
    return value if type(value) is str else None


def get_amount(data: Mapping[str, Any], name: str) -> int:
    """An integer; 0 if it is missing, negative or not an integer."""
    value = data.get(name)
    return value if type(value) is int and value >= 0 else 0


def get_object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A nested object; empty if it is missing or not an object."""
    value = data.get(name)
    return value if type(value) is dict else {}


def get_objects(data: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """The objects in a nested list; none if it is missing or not a list."""
    value = data.get(name)
    yield from (item for item in (value if type(value) is list else ()) if type(item) is dict)


def body_reference(body: Mapping[str, Any]) -> BodyReference:
    """The reference to a body in an entry. Members that are missing or have the wrong type become 0 or empty."""
    return BodyReference(
        bytes=get_amount(body, "bytes"),
        digest=get_str(body, "digest") or "",
        salted=True if "salted" in body else None,
        type=get_str(body, "type") or "",
    )
