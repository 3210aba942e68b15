"""The machine that runs a plan: events in, entries and commands out. It reads no clock and touches nothing.

What it knows stands in `RunState`, which changes by entries alone. What it keeps beside that (who is due for a call,
who waits for what) follows from the state, and is made anew when a run is taken up again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

from forum_adapters.base import Attempt, Site
from forum_runner.execute.machine import call_result, next_call, task_end, task_start
from forum_runner.execute.machine.events import (
    Cancel,
    Command,
    Decided,
    Event,
    Interrupted,
    Lost,
    Outcome,
    Replied,
    Transition,
)
from forum_runner.execute.machine.fingerprint import Fingerprints
from forum_runner.execute.machine.plan_values import StoredBytes
from forum_runner.execute.machine.prompt_renderer import Renderer
from forum_runner.execute.machine.reply_parser import Schemas
from forum_runner.execute.machine.run_plan import RunPlan
from forum_runner.execute.machine.state import RunState
from forum_runner.execute.machine.tuples import made
from forum_runner.execute.machine.unit import Unit

# Which of the states of tasks names the run's, if there are several.
_WEIGHTS = ("stopped", "failed", "refused", "cancelled")


class Reusable(NamedTuple):
    """The result of an earlier run that may stand in for an attempt: on which ground, and where it stands."""

    ground: str
    run: str
    seq: int
    output: StoredBytes


@dataclass(frozen=True, slots=True)
class Context:
    """What the machine is told about its surroundings.

    `settings` are those that calls get: a script's where adapters are scripted. `check_settings` are for checks by
    commands, which have no adapter. `find_reusable` is asked before a unit's first attempt.
    """

    run: str
    implementation: Mapping[str, str]
    settings: Mapping[str, Mapping[str, Any]]
    check_settings: Mapping[str, Any]
    site: Site = field(default_factory=Site)
    secrets: Mapping[str, str] = field(default_factory=dict)
    find_reusable: Callable[[Unit, str], Reusable | None] = lambda _unit, _fingerprint: None


class Machine:
    def __init__(self, plan: RunPlan, context: Context) -> None:
        self.plan = plan
        self.context = context
        self.state = RunState(plan, context.run)
        # What the parts of the machine tell: it changes the state, and is written.
        self.tell = self.state.tell
        self.schemas = Schemas(plan.document["schemas"])
        self.fingerprints = Fingerprints(plan)
        self.renderer = Renderer(context.run, context.secrets)
        self.recording = Renderer(context.run, None)
        self.wall_ms: int | None = plan.policy["budget"].get("wall_ms")
        self.outcome: Outcome | None = None
        self.is_pausing = False
        # Units that have begun go before those that have not: what was paid for is finished first.
        self.begun: deque[Unit] = deque()
        self.fresh: deque[Unit] = deque()
        self.short: list[Unit] = []
        self._timers: list[tuple[int, int, Unit]] = []
        self._numbers = count()
        self._commands: list[Command] = []
        self._cancels = False
        self._has_swept = False

    # Ways in.

    def open(self, now_us: int) -> Transition:
        """A new run, whose first entry is written."""
        self.state.now_us = now_us
        self._look_at_the_clock()
        if not self.plan.is_in_waves:
            for name, task in self.plan.tasks.items():
                if self.state.waiting_for[name] == 0:
                    task_start.arrive(self, task)
        return self._step()

    def resume(self, now_us: int) -> Transition:
        """A run whose entries so far were taken in by `state.apply`."""
        state = self.state
        self.state.now_us = now_us
        self._begin_anew()
        self.tell("run.resumed", {"implementation": dict(self.context.implementation)})
        self._decide_by_deadline()
        for unit in list(state.calls.values()):
            call_result.lose(self, unit)
        self._look_at_the_clock()
        for name, task in self.plan.tasks.items():
            is_open = not self.plan.is_in_waves or task.wave < state.waves_opened
            if state.state_of(name) is None and state.waiting_for[name] == 0 and is_open:
                task_start.take_up(self, task)
        # What was released meanwhile stands later in the plan: it was taken up, too.
        state.released.clear()
        return self._step()

    def _begin_anew(self) -> None:
        """Forgets what only the process knew that has stopped, be it this one."""
        self.outcome = None
        self.is_pausing = self._has_swept = False
        self.begun.clear()
        self.fresh.clear()
        self.short.clear()
        self._timers.clear()
        for unit in self.state.units.values():
            unit.resumes_us = unit.check_error = None
            unit.losses = 0

    def is_waiting(self, now_us: int) -> bool:
        """Whether a paused run would do nothing but pause again: nobody has decided, and no deadline has passed."""
        units = self.state.units.values()
        gates = [unit.gate for unit in units if unit.gate is not None and unit.state is None and not unit.has_begun]
        is_undecided = all(
            gate.decision is None and (gate.deadline_us is None or gate.deadline_us > now_us) for gate in gates
        )
        return self.state.is_paused and self.state.pause_reason == "gate" and is_undecided

    def handle(self, event: Event, now_us: int) -> Transition:
        if self.outcome is not None:
            # Whoever is late, or says a thing twice, finds nobody at work.
            return Transition([], [])
        self.state.now_us = now_us
        # What was due before goes before, whether or not somebody woke the machine for it.
        if self._timers or self.wall_ms is not None:
            self._look_at_the_clock()
        if isinstance(event, Replied):
            call_result.take_reply(self, event.call, event.reply)
        elif isinstance(event, Lost):
            unit = self.state.calls.get(event.call)
            if unit is not None:
                call_result.lose(self, unit)
        elif isinstance(event, Interrupted):
            self._interrupt()
        elif isinstance(event, Decided):
            task_start.take_decision(self, event)
        return self._step()

    def next_wake_us(self) -> int | None:
        """When `TimePassed` is to be told, if nothing happens before."""
        due_us = self._timers[0][0] if self._timers else None
        if self.wall_ms is None or self.state.is_out_of_time or self.is_pausing:
            return due_us
        deadline_us = self._deadline_us()
        return min((time for time in (due_us, deadline_us) if time is not None), default=None)

    # What the parts of the machine share.

    def begin(self, attempt: Attempt) -> None:
        self._commands.append(attempt)

    def cancel(self, call: str) -> None:
        self._commands.append(Cancel(call))
        self._cancels = True

    def wait(self, unit: Unit, until_us: int) -> None:
        """The unit is looked at again at that time."""
        unit.resumes_us = until_us
        heappush(self._timers, (until_us, next(self._numbers), unit))

    def first_waiting(self) -> Unit | None:
        """The unit that is looked at next, if one waits for a time."""
        return self._timers[0][2] if self._timers else None

    def waiting(self) -> list[Unit]:
        """The units that wait for a time."""
        return [unit for due_us, _, unit in self._timers if unit.state is None and unit.resumes_us == due_us]

    def wall_left_ms(self) -> int | None:
        return None if self.wall_ms is None else self.wall_ms - self.state.active_ms(self.state.now_us)

    # From event to step.

    def _step(self) -> Transition:
        self._pump()
        state = self.state
        entries, state.told = state.told, []
        commands, self._commands = self._commands, []
        if self._cancels:
            self._cancels = False
            # A call may have ended in the step that was to cancel it.
            calls = state.calls
            commands = [command for command in commands if isinstance(command, Attempt) or command.call in calls]
        return made(Transition, (entries, commands))

    def _pump(self) -> None:
        """Begins what can begin, until nothing more can."""
        state, begun, fresh = self.state, self.begun, self.fresh
        calls, most = state.calls, self.plan.max_parallel
        while not self.is_pausing:
            self._arrivals()
            while (begun or fresh) and len(calls) < most:
                next_call.advance(self, begun.popleft() if begun else fresh.popleft())
            if state.is_stopping and not self._has_swept:
                self._has_swept = True
                task_start.sweep(self)
            elif not state.released and (state.wave_left or not self._opens_wave()):
                break
        if not calls and self.outcome is None:
            self._come_to_rest()

    def _arrivals(self) -> None:
        """Tasks all of whose dependencies have ended; with waves, those of a wave that is opened."""
        state = self.state
        if not self.plan.is_in_waves:
            released, state.released = state.released, []
            for task in sorted(released, key=lambda task: task.order) if len(released) > 1 else released:
                task_start.arrive(self, task)
            return
        state.released.clear()
        if self._opens_wave():
            number, tasks = state.waves_opened, self.plan.tasks
            causes = [] if state.last_ended is None else [state.last_ended]
            self.tell("wave.opened", {"wave": number}, causes=causes)
            for name in self.plan.waves[number]:
                task_start.arrive(self, tasks[name])

    def _opens_wave(self) -> bool:
        state, plan = self.state, self.plan
        if state.wave_left or state.is_stopping or not plan.is_in_waves:
            return False
        return state.waves_opened < len(plan.waves)

    def _come_to_rest(self) -> None:
        """No call is open: the run is over, is paused, or waits for a time that is still to come."""
        state = self.state
        if self.is_pausing:
            self.tell("run.paused", {"reason": "interrupted"})
            self.outcome = Outcome("paused", "interrupted")
        elif state.ended == len(self.plan.tasks):
            self._seal()
        elif state.open_gates and all(unit.gate is not None and unit.gate.decision is None for unit in self.waiting()):
            self.tell("run.paused", {"reason": "gate"})
            self.outcome = Outcome("paused", "gate")
        elif not self.waiting():
            raise RuntimeError("nothing is under way, nothing is due, and the run is not over")

    def _seal(self) -> None:
        for name in sorted(self.plan.outputs):
            if name not in self.state.answers:
                task_end.answer(self, name)
        counts = dict(self.state.counts)
        status = next((state for state in _WEIGHTS if counts[state]), "passed")
        self.tell("run.sealed", {"status": status, "counts": counts, "totals": dict(self.state.budgets.totals)})
        self.outcome = Outcome(status)

    # Time.

    def _deadline_us(self) -> int | None:
        left = self.wall_left_ms()
        if left is None or self.state.active_since_us is None:
            return None
        return self.state.now_us + max(left, 0) * 1_000

    def _look_at_the_clock(self) -> None:
        left = self.wall_left_ms()
        is_over = left is not None and left <= 0 and self.state.ended < len(self.plan.tasks)
        if is_over and not self.state.is_out_of_time and not self.is_pausing:
            task_end.stop_at_wall(self)
        while self._timers and self._timers[0][0] <= self.state.now_us:
            due_us, _, unit = heappop(self._timers)
            if unit.state is not None or unit.resumes_us != due_us:
                continue
            unit.resumes_us = None
            if unit.gate is not None and unit.gate.decision is None:
                task_start.pass_deadline(self, unit)
            (self.begun if unit.has_begun else self.fresh).append(unit)

    def _decide_by_deadline(self) -> None:
        for unit in self.state.units.values():
            gate = unit.gate
            if gate is None or gate.decision is not None or gate.deadline_us is None or unit.state is not None:
                continue
            if gate.deadline_us <= self.state.now_us:
                task_start.pass_deadline(self, unit)

    def _interrupt(self) -> None:
        if self.is_pausing or self.outcome is not None:
            return
        self.is_pausing = True
        for call in self.state.calls:
            self.cancel(call)
