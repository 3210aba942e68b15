"""Drives a machine in virtual time: nothing waits and nothing is random, so two runs produce the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any

from forum_adapters.base import Attempt, ErrorKind, Failure, Predictable, Reply
from forum_runner.execute.drive.recorder import Recorder, RunClock
from forum_runner.execute.machine import Machine, Outcome, Replied, TimePassed, Transition
from forum_runner.execute.secrets import Scrubber

# 2000-01-01T00:00:00Z, in microseconds.
EPOCH_US = 946_684_800_000_000

MakePredictable = Callable[[str, Mapping[str, Any]], Predictable]


class VirtualDriver:
    """Handles events in the order of their times: replies before timers, and replies in the order of their tasks."""

    def __init__(
        self, machine: Machine, recorder: Recorder, make_adapter: MakePredictable, scrubber: Scrubber, clock: RunClock
    ) -> None:
        self._machine = machine
        self._recorder = recorder
        self._make_adapter = make_adapter
        self._scrubber = scrubber
        self._clock = clock
        self._adapters: dict[str, Predictable] = {}
        self._replies: list[tuple[int, tuple[int, int], int, Replied]] = []
        self._numbers = count()

    def steps(self, *, is_new: bool) -> Generator[None, None, Outcome]:
        """Runs the machine, one event per step, and returns the outcome."""
        if is_new:
            self._perform(self._machine.open(self._clock.now_us))
        elif not self._machine.is_waiting(self._clock.now_us):
            self._perform(self._machine.resume(self._clock.now_us))
        elif not self._advance_to_deadline():
            return Outcome("paused", "gate")
        while True:
            outcome = self._machine.outcome
            if outcome is None:
                self._handle_next_event()
                yield
            elif outcome.reason != "gate" or not self._advance_to_deadline():
                return outcome

    def _perform(self, step: Transition) -> None:
        self._recorder.write(step.entries)
        self._recorder.commit()
        for command in step.commands:
            if isinstance(command, Attempt):
                self._begin(command)
            else:
                self._cancel(command.call)

    def _begin(self, attempt: Attempt) -> None:
        adapter = self._adapters.get(attempt.adapter)
        if adapter is None:
            adapter = self._adapters[attempt.adapter] = self._make_adapter(attempt.adapter, attempt.settings)
        reply, latency_ms = adapter.predict(attempt)
        if latency_ms > attempt.limits.timeout_ms:
            latency_ms = attempt.limits.timeout_ms
            reply = Reply(failure=Failure(ErrorKind.TIMEOUT, "the call exceeded its timeout"))
        self._push(attempt.id, reply, latency_ms)

    def _push(self, call: str, reply: Reply, latency_ms: int) -> None:
        order = self._machine.state.open_calls[call].order
        due_us = self._clock.now_us + latency_ms * 1_000
        heappush(self._replies, (due_us, order, next(self._numbers), Replied(call, self._scrubber.scrub_reply(reply))))

    def _cancel(self, call: str) -> None:
        self._push(call, Reply(failure=Failure(ErrorKind.CANCELLED, "the call was cancelled")), 0)

    def _handle_next_event(self) -> None:
        wake_us = self._machine.next_wake_us()
        if self._replies and (wake_us is None or self._replies[0][0] <= wake_us):
            due_us, _, _, event = heappop(self._replies)
            self._clock.now_us = max(self._clock.now_us, due_us)
            self._perform(self._machine.handle(event, self._clock.now_us))
            return
        if wake_us is None:
            raise RuntimeError("the run has not ended, but no event is left")
        self._clock.now_us = max(self._clock.now_us, wake_us)
        self._perform(self._machine.handle(TimePassed(), self._clock.now_us))

    def _advance_to_deadline(self) -> bool:
        """Resumes the run at the first deadline of its open gates, because nobody decides in virtual time.

        Returns False if no gate has a deadline.
        """
        gates = [unit.gate for unit in self._machine.state.units.values() if unit.gate is not None and not unit.state]
        deadlines = [gate.deadline_us for gate in gates if gate.decision is None and gate.deadline_us is not None]
        if not deadlines:
            return False
        self._clock.now_us = max(self._clock.now_us, min(deadlines))
        self._perform(self._machine.resume(self._clock.now_us))
        return True
