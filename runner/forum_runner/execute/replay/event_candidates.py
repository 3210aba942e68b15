"""The events that may have led to the next entry. A ledger contains entries, but not the events.

Usually there is only one candidate. Events in the same microsecond, and events that write nothing, leave a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from forum_runner.execute.machine import Decided, Event, Interrupted, Lost, Machine, Replied, TimePassed
from forum_runner.execute.replay.recorded_replies import reply_of
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.read_entry import MAINTENANCE_KINDS, ReadEntry
from forum_runner.ledger.recorded_body import RecordedBodies
from forum_runner.wave_plan.wave_plan_reader import WavePlan

_CLOSING = ("task.finished", "verdict.given", "task.lost", "verdict.lost")
# What a machine writes about expired timers, before it handles an event.
_DUE = ("gate.decided", "budget.stopped")
# What may come between an interrupt and the pause that follows it: ends of calls, and decisions by deadlines.
_PAUSING = frozenset({*_CLOSING, "budget.exceeded", "gate.decided", "run.paused"})
# A call that a budget cut short ends its unit even while the run is pausing.
_STOPPING = _PAUSING | {"budget.stopped", "task.ended"}
# How late a busy process may wake.
_LATE_US = 50_000


@dataclass(frozen=True, slots=True)
class Session:
    """The entries that one process wrote: from `start` up to, but not including, `end`."""

    plan: WavePlan
    entries: Sequence[ReadEntry]
    bodies: RecordedBodies
    start: int
    end: int


class EventCandidate(NamedTuple):
    """An event that may have happened, and when."""

    event: Event
    at_us: int


def is_foreign(entry: ReadEntry) -> bool:
    """Whether a writer other than the machine may have written the entry. A person's decision is foreign if no process
    was running at the time."""
    return is_by_person(entry) or entry.kind in MAINTENANCE_KINDS or entry.kind.startswith("x-")


def is_by_person(entry: ReadEntry) -> bool:
    return entry.kind == "gate.decided" and entry.data.get("by") == "person"


class EventCandidates:
    """The candidates for each entry of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries = entries = session.entries
        start, end = session.start, session.end
        self._late_us = 0 if entries[0].data["mode"] == "deterministic" else _LATE_US
        # The first entry after which an interrupt is possible, and the first after which it is likely.
        self._may_pause_from = self._is_likely_to_pause_from = end
        last = next(entries[place] for place in reversed(range(start, end)) if not is_foreign(entries[place]))
        is_interrupted = last.kind == "run.paused" and last.data["reason"] == "interrupted"
        if is_interrupted or last.kind not in ("run.paused", "run.sealed"):
            self._may_pause_from = self._tail(_STOPPING)
            ended_from = self._tail(_PAUSING)
            if is_interrupted or any(entry.data.get("status") == "cancelled" for entry in entries[ended_from:end]):
                self._is_likely_to_pause_from = ended_from

    def next(self, machine: Machine, at: int) -> list[EventCandidate]:
        """The events that may have led to this entry, or to none before it; the likeliest first."""
        if machine.outcome is not None:
            return []
        entry = self._entries[at]
        now_us = read_time(entry.at)
        cause = self._cause(at)
        event = None if cause is None else self._event(machine, cause)
        candidates = [] if event is None else [EventCandidate(event, now_us)]
        due_us = _due_us(machine, now_us)
        if due_us is not None and entry is not cause:
            candidates.append(EventCandidate(TimePassed(), now_us))
        if due_us is not None and _may_wake_without_entry(machine, due_us) and (entry is cause or due_us < now_us):
            silent = EventCandidate(TimePassed(), due_us)
            candidates = [silent, *candidates] if now_us - due_us > self._late_us else [*candidates, silent]
        if at >= self._may_pause_from and not machine.is_pausing:
            interrupts = _interrupts(machine, now_us)
            is_likely = at >= self._is_likely_to_pause_from
            candidates = [*interrupts, *candidates] if is_likely else [*candidates, *interrupts]
        return candidates

    def _tail(self, kinds: frozenset[str]) -> int:
        """The first entry from which on there are only entries of these kinds, and foreign ones."""
        place = self._session.end
        while place > self._session.start + 1:
            entry = self._entries[place - 1]
            if not is_foreign(entry) and (entry.kind not in kinds or _is_by_schema(entry)):
                break
            place -= 1
        return place

    def _cause(self, at: int) -> ReadEntry | None:
        """The entry that shows the event. Entries about timers that expired at the same time come before it."""
        first = self._entries[at]
        if first.kind not in _DUE:
            return first if _shows_an_event(first) else None
        for place in range(at, self._session.end):
            entry = self._entries[place]
            if entry.at == first.at and _shows_an_event(entry):
                return entry
            if entry.at != first.at or entry.kind not in (*_DUE, "task.ended"):
                break
        return None

    def _event(self, machine: Machine, entry: ReadEntry) -> Replied | Lost | Decided | None:
        data, bodies = entry.data, self._session.bodies.of_entry(entry)
        if is_by_person(entry):
            texts = {name: body.data for name, body in bodies.items()}
            return Decided(data["task"], data["decision"], entry.actor, data["displayed"], texts)
        unit = machine.state.units.get(data["task"])
        if unit is None or unit.call is None:
            return None
        if entry.kind.endswith("lost"):
            return Lost(unit.call.id)
        is_model = self._session.plan.is_model(unit.call.adapter)
        return Replied(unit.call.id, reply_of(entry, bodies, is_model=is_model))


def _shows_an_event(entry: ReadEntry) -> bool:
    """Whether it records the end of a call, or a person's decision."""
    return is_by_person(entry) or (entry.kind in _CLOSING and not _is_by_schema(entry))


def _is_by_schema(entry: ReadEntry) -> bool:
    return bool(entry.data.get("by") == "schema")


def _due_us(machine: Machine, now_us: int) -> int | None:
    """The earliest expired timer that the machine was not woken for."""
    wake_us = machine.next_wake_us()
    if wake_us is not None and wake_us <= now_us:
        return wake_us
    # The budget counts whole milliseconds: it may be used up just before the machine asks to be woken.
    is_over = machine.wall_ms is not None and machine.state.active_ms(now_us) >= machine.wall_ms
    return now_us if is_over and not machine.state.is_out_of_time and not machine.is_pausing else None


def _may_wake_without_entry(machine: Machine, due_us: int) -> bool:
    """Whether the unit whose timer expired may have had to wait again, so that nothing was written.

    If there is no room for a call it only goes to its queue, as it would at the next event.
    """
    unit = machine.first_waiting_unit()
    if unit is None or unit.resumes_us != due_us or unit.state is not None or machine.is_pausing:
        return False
    return not unit.is_undecided and len(machine.state.open_calls) < machine.max_parallel


def _interrupts(machine: Machine, now_us: int) -> list[EventCandidate]:
    """At the time of the entry, or right after the one before it: a pausing run ignores timers that expire later."""
    is_early = machine.state.open_calls and _due_us(machine, now_us) is not None
    times = [now_us, machine.state.now_us] if is_early else [now_us]
    return [EventCandidate(Interrupted(), time) for time in times]
