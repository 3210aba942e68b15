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
    """Somebody asked to pause the run."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """A timer expired."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A person decided a gate that displays the document with the digest `displayed`.

    `texts` may contain the person's `reason` and the `edited` instruction.
    """

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


# A command is sent after the entries of its transition are written.
Command = Attempt | Cancel


class Transition(Struct, frozen=True):
    """The result of an event: entries to write, and then commands to send."""

    entries: list[NewEntry]
    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run or of a process: the status of the seal, or `paused` and the reason."""

    status: str
    reason: str | None = None
