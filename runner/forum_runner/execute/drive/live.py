"""Drives a machine in real time: writes its entries, and connects it to the engine, to timers and to decisions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import count

from forum_adapters.base import Attempt
from forum_runner.execute.drive.engine_guard import EngineGuard
from forum_runner.execute.drive.recorder import Recorder, RunClock
from forum_runner.execute.engines import Engine
from forum_runner.execute.machine import Command, Decided, Event, Interrupted, Machine, Outcome, Replied, TimePassed
from forum_runner.execute.secrets import Scrubber

# How many rounds may pass before the event loop gets a turn.
_MAX_ROUNDS = 64
# How often to check for decisions while a gate is open.
_DECISION_POLL_S = 0.2


class SteadyClock:
    """Starts at the system's time and follows the monotonic clock, so changes of the system's time have no effect."""

    def __init__(self, not_before_us: int = 0) -> None:
        """`not_before_us` is the time of the last entry when a run is resumed."""
        self._offset_us = max(time.time_ns() // 1_000, not_before_us) - time.monotonic_ns() // 1_000

    def __call__(self) -> int:
        return time.monotonic_ns() // 1_000 + self._offset_us


class LiveDriver:
    def __init__(
        self,
        machine: Machine,
        recorder: Recorder,
        engine: Engine,
        scrubber: Scrubber,
        clock: RunClock,
        now: Callable[[], int],
        announce_wait: Callable[[int, str], None] = lambda _until_us, _reason: None,
        take_decisions: Callable[[], Sequence[Decided]] = lambda: (),
    ) -> None:
        self._announce_wait = announce_wait
        self._take_decisions = take_decisions
        self._machine = machine
        self._recorder = recorder
        self._engine = EngineGuard(engine)
        self._scrubber = scrubber
        self._clock = clock
        self._now = now
        self._woken = asyncio.Event()
        self._rounds = count(1)
        self._is_interrupted = False

    def interrupt(self) -> None:
        """Pauses the run, so that it can be resumed later."""
        self._is_interrupted = True
        self._woken.set()

    async def run(self, *, is_new: bool) -> Outcome:
        """Starts or resumes the run, and returns when it is sealed or paused."""
        try:
            self._engine.attach(self._woken.set)
            commands = self._begin(is_new=is_new)
            while True:
                # Write the entries of all events together, before their commands are carried out. Waiting for the disk
                # must not block running calls.
                if self._recorder.waits_for_disk:
                    await self._recorder.commit_in_thread()
                else:
                    self._recorder.commit()
                self._perform(commands)
                if self._machine.outcome is not None:
                    return self._machine.outcome
                # Immediate replies must not keep the loop from handling signals and other calls.
                if next(self._rounds) % _MAX_ROUNDS == 0:
                    await asyncio.sleep(0)
                events = self._pending_events()
                if not events:
                    # Adapters that do not wait reply within one iteration of the loop.
                    await asyncio.sleep(0)
                    events = self._pending_events()
                while not events:
                    await self._wait()
                    events = self._pending_events()
                commands = []
                for event in events:
                    commands += self._handle(event)
        finally:
            await self._engine.close()

    def _begin(self, *, is_new: bool) -> list[Command]:
        begin = self._machine.open if is_new else self._machine.resume
        step = begin(self._tick())
        self._recorder.write(step.entries)
        return step.commands

    def _tick(self) -> int:
        """Sets the run's clock, and returns its time."""
        self._clock.now_us = self._now()
        return self._clock.now_us

    def _handle(self, event: Event) -> list[Command]:
        if isinstance(event, Replied):
            reply = self._scrubber.scrub_reply(event.reply)
            if reply is not event.reply:
                event = Replied(event.call, reply)
        step = self._machine.handle(event, self._tick())
        self._recorder.write(step.entries)
        return step.commands

    def _perform(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Attempt):
                self._engine.begin(command)
            else:
                self._engine.cancel(command.call)

    def _pending_events(self) -> list[Event]:
        events: list[Event] = list(self._engine.reports())
        if self._machine.state.open_gates:
            events += self._take_decisions()
        due_us = self._machine.next_wake_us()
        if due_us is not None and due_us <= self._now():
            events.append(TimePassed())
        if self._is_interrupted and not self._machine.is_pausing:
            events.append(Interrupted())
        return events

    async def _wait(self) -> None:
        due_us = self._machine.next_wake_us()
        delays_s = [_DECISION_POLL_S] if self._machine.state.open_gates else []
        if due_us is not None:
            self._explain_wait(due_us)
            delays_s.append(max(due_us - self._now(), 0) / 1e6)
        timer = None
        if delays_s:
            timer = asyncio.get_running_loop().call_later(min(delays_s), self._woken.set)
        await self._woken.wait()
        self._woken.clear()
        if timer is not None:
            timer.cancel()

    def _explain_wait(self, due_us: int) -> None:
        """Announces why no call is running: a backoff or a rate limit."""
        unit = None if self._machine.state.open_calls else self._machine.first_waiting_unit()
        if unit is not None and unit.resumes_us == due_us:
            self._announce_wait(due_us, f"retry of {unit.name}" if unit.has_begun else f"rate limit before {unit.name}")
