"""What happens to a run, and what is to be done about it: the machine's way in and its way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from forum_adapters.base import Attempt
from forum_runner.execute.call_report import Lost, Replied
from forum_runner.ledger.recorded_body import StoredBytes


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Somebody wants the run to stop where it can go on later."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Something was due."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A person decided at a gate: on what had the digest `displayed`. There may be the texts `reason` and `edited`."""

    task: str
    decision: str
    actor: str
    displayed: str
    texts: Mapping[str, bytes]


Event = Replied | Lost | Interrupted | TimePassed | Decided


class NewEntry(NamedTuple):
    """An entry, on its way to the ledger."""

    kind: str
    data: Mapping[str, Any]
    bodies: Mapping[str, StoredBytes]
    causes: Sequence[int]
    actor: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """A call is to be ended; its end is still to be reported."""

    call: str


# An attempt is to be made: its intent is on record.
Command = Attempt | Cancel


class Transition(NamedTuple):
    """The answer to an event: entries first, and when they are written, commands."""

    entries: list[NewEntry]
    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended: the seal's status, or `paused` and the reason."""

    status: str
    reason: str | None = None
