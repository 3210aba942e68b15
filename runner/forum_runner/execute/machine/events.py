"""The machine's input, events, and its output, entries and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from forum_adapters.base import Attempt
from forum_runner.execute.call_report import Lost, Replied
from forum_runner.ledger.entry import NewEntry


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Pause the run; it can be resumed later."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """A timer expired."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A person's decision at a gate, about the document with the digest `displayed`. `texts` may contain `reason` and
    `edited`."""

    task: str
    decision: str
    actor: str
    displayed: str
    texts: Mapping[str, bytes]


Event = Replied | Lost | Interrupted | TimePassed | Decided


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a call. The engine still reports its end."""

    call: str


# An attempt is sent after its `task.started` is written.
Command = Attempt | Cancel


class Transition(Struct, frozen=True):
    """The result of an event: entries to write, and then commands to send."""

    entries: list[NewEntry]
    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the run ended: the seal's status, or `paused` and the reason."""

    status: str
    reason: str | None = None
