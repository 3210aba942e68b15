"""Drives a machine in real time: entries to the ledger, commands to the engine, reports and timers back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import count

from forum_adapters.base import Attempt
from forum_runner.execute.drive.engine_guard import EngineGuard
from forum_runner.execute.drive.recorder import Record, RunClock
from forum_runner.execute.engines import Engine
from forum_runner.execute.machine import Command, Decided, Event, Interrupted, Machine, Outcome, Replied, TimePassed
from forum_runner.execute.secrets import Scrubber

_ROUNDS = 64
# How often it is looked whether a person has decided, as long as there is something to decide.
_LOOK_S = 0.2


class SteadyClock:
    """The system's time at the start, and from there by a clock that nobody sets: spans are right in any case."""

    def __init__(self, not_before_us: int = 0) -> None:
        """A ledger that is gone on with has a time before which no entry may be."""
        self._offset_us = max(time.time_ns() // 1_000, not_before_us) - time.monotonic_ns() // 1_000

    def __call__(self) -> int:
        return time.monotonic_ns() // 1_000 + self._offset_us


class LiveDriver:
    def __init__(
        self,
        machine: Machine,
        record: Record,
        engine: Engine,
        scrubber: Scrubber,
        clock: RunClock,
        now: Callable[[], int],
        waiting: Callable[[int, str], None] = lambda _until_us, _why: None,
        decisions: Callable[[], Sequence[Decided]] = lambda: (),
    ) -> None:
        self._waiting = waiting
        self._decisions = decisions
        self._machine = machine
        self._record = record
        self._engine = EngineGuard(engine)
        self._scrubber = scrubber
        self._clock = clock
        self._now = now
        self._woken = asyncio.Event()
        self._rounds = count(1)
        self._is_interrupted = False

    def interrupt(self) -> None:
        """The run is to stop where it can go on later."""
        self._is_interrupted = True
        self._woken.set()

    async def run(self, *, is_new: bool) -> Outcome:
        try:
            self._engine.attach(self._woken.set)
            commands = self._begin(is_new=is_new)
            while True:
                # Entries of all that happened together are written together, and before anything is done because of
                # them. A disk that is waited for must not hold up what runs.
                if self._record.waits_for_disk:
                    await self._record.commit_together()
                else:
                    self._record.commit()
                self._perform(commands)
                if self._machine.outcome is not None:
                    return self._machine.outcome
                # Answers that are there at once must not keep signals and other calls from being heard.
                if next(self._rounds) % _ROUNDS == 0:
                    await asyncio.sleep(0)
                events = self._happened()
                if not events:
                    # After one round of the loop, whoever answers without waiting has answered.
                    await asyncio.sleep(0)
                    events = self._happened() or await self._events()
                commands = []
                for event in events:
                    commands += self._handle(event)
        finally:
            await self._engine.close()

    def _begin(self, *, is_new: bool) -> list[Command]:
        begin = self._machine.open if is_new else self._machine.resume
        step = begin(self._tick())
        self._record.write(step.entries)
        return step.commands

    def _tick(self) -> int:
        self._clock.now_us = self._now()
        return self._clock.now_us

    def _handle(self, event: Event) -> list[Command]:
        if isinstance(event, Replied):
            reply = self._scrubber.reply(event.reply)
            if reply is not event.reply:
                event = Replied(event.call, reply)
        step = self._machine.handle(event, self._tick())
        self._record.write(step.entries)
        return step.commands

    def _perform(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Attempt):
                self._engine.begin(command)
            else:
                self._engine.cancel(command.call)

    async def _events(self) -> list[Event]:
        """What happens next, at least one thing."""
        while True:
            await self._wait()
            events = self._happened()
            if events:
                return events

    def _happened(self) -> list[Event]:
        events: list[Event] = list(self._engine.reports())
        if self._machine.state.open_gates:
            events += self._decisions()
        due_us = self._machine.next_wake_us()
        if due_us is not None and due_us <= self._now():
            events.append(TimePassed())
        if self._is_interrupted and not self._machine.is_pausing:
            events.append(Interrupted())
        return events

    async def _wait(self) -> None:
        due_us = self._machine.next_wake_us()
        delays_s = [_LOOK_S] if self._machine.state.open_gates else []
        if due_us is not None:
            self._tell_wait(due_us)
            delays_s.append(max(due_us - self._now(), 0) / 1e6)
        timer = None
        if delays_s:
            timer = asyncio.get_running_loop().call_later(min(delays_s), self._woken.set)
        await self._woken.wait()
        self._woken.clear()
        if timer is not None:
            timer.cancel()

    def _tell_wait(self, due_us: int) -> None:
        """Somebody who watches is told why nothing happens: a backoff, or a rate."""
        unit = None if self._machine.state.calls else self._machine.first_waiting()
        if unit is not None and unit.resumes_us == due_us:
            self._waiting(due_us, f"retry of {unit.name}" if unit.has_begun else f"rate limit before {unit.name}")
