"""The events that may have led to the next entry. A ledger contains entries, but not the events.

Usually there is only one candidate. Events in the same microsecond, and events that write nothing, leave a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from forum_runner.execute.machine import Decided, Event, Interrupted, Lost, Machine, Replied, TimePassed
from forum_runner.execute.replay.recorded_replies import reply_of
from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.read_entry import MAINTENANCE_KINDS, ReadEntry
from forum_runner.ledger.recorded_body import RecordedBodies
from forum_runner.wave_plan.wave_plan_reader import WavePlan

_CALL_END_KINDS = ("task.finished", "verdict.given", "task.lost", "verdict.lost")
# Kinds that a machine writes about expired timers, before it handles an event.
_TIMER_KINDS = ("gate.decided", "budget.stopped")
# Kinds that may come between an interrupt and the pause that follows it: ends of calls, and decisions by deadlines.
_PAUSING_KINDS = frozenset({*_CALL_END_KINDS, "budget.exceeded", "gate.decided", "run.paused"})
# A call that a budget cut short ends its unit even while the run is pausing.
_STOPPING_KINDS = _PAUSING_KINDS | {"budget.stopped", "task.ended"}
# How late a busy process may wake after a timer expires.
_MAX_DELAY_US = 50_000


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
        self._max_delay_us = 0 if entries[0].data["mode"] == "deterministic" else _MAX_DELAY_US
        # The first entries that may follow an interrupt, and that are likely to follow one.
        self._first_possible_interrupt = self._first_likely_interrupt = end
        last = next(entries[position] for position in reversed(range(start, end)) if not is_foreign(entries[position]))
        is_interrupted = last.kind == "run.paused" and last.data["reason"] == "interrupted"
        if is_interrupted or last.kind not in ("run.paused", "run.sealed"):
            self._first_possible_interrupt = self._start_of_tail(_STOPPING_KINDS)
            ended_from = self._start_of_tail(_PAUSING_KINDS)
            if is_interrupted or any(entry.data.get("status") == "cancelled" for entry in entries[ended_from:end]):
                self._first_likely_interrupt = ended_from

    def next(self, machine: Machine, position: int) -> list[EventCandidate]:
        """The events that may have led to this entry, or preceded it without writing one; the likeliest first."""
        if machine.outcome is not None:
            return []
        entry = self._entries[position]
        now_us = parse_time(entry.at)
        cause = self._cause(position)
        event = None if cause is None else self._event(machine, cause)
        candidates = [] if event is None else [EventCandidate(event, now_us)]
        due_us = _due_us(machine, now_us)
        if due_us is not None and entry is not cause:
            candidates.append(EventCandidate(TimePassed(), now_us))
        if due_us is not None and _may_wake_without_entry(machine, due_us) and (entry is cause or due_us < now_us):
            silent = EventCandidate(TimePassed(), due_us)
            candidates = [silent, *candidates] if now_us - due_us > self._max_delay_us else [*candidates, silent]
        if position >= self._first_possible_interrupt and not machine.is_pausing:
            interrupts = _interrupts(machine, now_us)
            is_likely = position >= self._first_likely_interrupt
            candidates = [*interrupts, *candidates] if is_likely else [*candidates, *interrupts]
        return candidates

    def _start_of_tail(self, kinds: frozenset[str]) -> int:
        """The position from which the session has only entries of these kinds, and foreign ones."""
        position = self._session.end
        while position > self._session.start + 1:
            entry = self._entries[position - 1]
            if not is_foreign(entry) and (entry.kind not in kinds or _is_by_schema(entry)):
                break
            position -= 1
        return position

    def _cause(self, position: int) -> ReadEntry | None:
        """The entry, if any, that shows the event: this one, or one after entries about timers of the same time."""
        first = self._entries[position]
        if first.kind not in _TIMER_KINDS:
            return first if _shows_an_event(first) else None
        for later in range(position, self._session.end):
            entry = self._entries[later]
            if entry.at == first.at and _shows_an_event(entry):
                return entry
            if entry.at != first.at or entry.kind not in (*_TIMER_KINDS, "task.ended"):
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
    """Whether the entry records the end of a call or a person's decision."""
    return is_by_person(entry) or (entry.kind in _CALL_END_KINDS and not _is_by_schema(entry))


def _is_by_schema(entry: ReadEntry) -> bool:
    return bool(entry.data.get("by") == "schema")


def _due_us(machine: Machine, now_us: int) -> int | None:
    """The time of the earliest expired timer for which the machine was not woken; None if there is none."""
    wake_us = machine.next_wake_us()
    if wake_us is not None and wake_us <= now_us:
        return wake_us
    # The budget counts whole milliseconds: it may be used up just before the machine asks to be woken.
    is_time_up = machine.wall_ms is not None and machine.state.active_ms(now_us) >= machine.wall_ms
    return now_us if is_time_up and not machine.state.is_out_of_time and not machine.is_pausing else None


def _may_wake_without_entry(machine: Machine, due_us: int) -> bool:
    """Whether the unit whose timer expired may have had to wait again, so that nothing was written.

    If the run may not make another call, the unit only goes to its queue, as it would at the next event.
    """
    unit = machine.first_waiting_unit()
    if unit is None or unit.resumes_us != due_us or unit.state is not None or machine.is_pausing:
        return False
    return not unit.is_undecided and len(machine.state.open_calls) < machine.max_parallel


def _interrupts(machine: Machine, now_us: int) -> list[EventCandidate]:
    """Interrupts at the time of the entry, or right after the one before it.

    The earlier one differs if a timer expired in between, because a pausing run ignores timers.
    """
    is_early = machine.state.open_calls and _due_us(machine, now_us) is not None
    times = [now_us, machine.state.now_us] if is_early else [now_us]
    return [EventCandidate(Interrupted(), time) for time in times]
