"""The machine that runs a plan: events in, entries and commands out. It reads no clock and does no I/O."""

from __future__ import annotations

from forum_runner.canonical import MAX_INTEGER
from forum_runner.execute.call_report import Lost, Replied
from forum_runner.execute.machine import call_result, next_call, task_end, task_start
from forum_runner.execute.machine.core import MachineCore
from forum_runner.execute.machine.events import Decided, Event, Interrupted, Outcome, Transition

# The worst task state gives the run its status.
_WORST_FIRST = ("stopped", "failed", "refused", "cancelled")


class Machine(MachineCore):
    def open(self, now_us: int) -> Transition:
        """Starts a run whose first entry was written."""
        self.state.now_us = now_us
        self._handle_time()
        if not self.uses_waves:
            for name, task in self.plan.tasks.items():
                if self.state.open_dependencies[name] == 0:
                    task_start.arrive(self, task)
        return self._step()

    def resume(self, now_us: int) -> Transition:
        """Resumes a run. Its entries must have been applied to the state."""
        state = self.state
        state.now_us = now_us
        self.reset()
        self.record("run.resumed", {"implementation": dict(self.context.implementation)})
        self._pass_deadlines()
        for unit in list(state.open_calls.values()):
            call_result.lose_call(self, unit)
        self._handle_time()
        for name, task in self.plan.tasks.items():
            is_open = not self.uses_waves or task.wave < state.waves_opened
            if state.state_of(name) is None and state.open_dependencies[name] == 0 and is_open:
                task_start.resume_task(self, task)
        # Tasks that the loop above released come later in the plan, so it resumed them, too.
        state.released_tasks.clear()
        return self._step()

    def is_waiting(self, now_us: int) -> bool:
        """Whether a paused run would only pause again: every open gate is undecided and before its deadline."""
        units = self.state.units.values()
        gates = [unit.gate for unit in units if unit.gate is not None and unit.state is None and not unit.has_begun]
        are_undecided = all(
            gate.decision is None and (gate.deadline_us is None or gate.deadline_us > now_us) for gate in gates
        )
        return self.state.is_paused and self.state.pause_reason == "gate" and are_undecided

    def handle(self, event: Event, now_us: int) -> Transition:
        if self.outcome is not None:
            # Late and repeated events change nothing.
            return Transition([], [])
        self.state.now_us = now_us
        # Timers that expired before the event go first, whether or not `TimePassed` was sent for them.
        if self._timers or self.wall_ms is not None:
            self._handle_time()
        if isinstance(event, Replied):
            call_result.take_reply(self, event.call, event.reply)
        elif isinstance(event, Lost):
            unit = self.state.open_calls.get(event.call)
            if unit is not None:
                call_result.lose_call(self, unit)
        elif isinstance(event, Interrupted) and not self.is_pausing:
            self.is_pausing = True
            self.cancel_all()
        elif isinstance(event, Decided):
            task_start.take_decision(self, event)
        return self._step()

    def next_wake_us(self) -> int | None:
        """When to send `TimePassed` if nothing happens before; None if nothing is due."""
        due_us = self._timers[0][0] if self._timers else None
        state = self.state
        if self.wall_ms is None or state.active_since_us is None or state.is_out_of_time or self.is_pausing:
            return due_us
        deadline_us = state.now_us + max(self.wall_ms - state.active_ms(state.now_us), 0) * 1_000
        return deadline_us if due_us is None else min(due_us, deadline_us)

    def _step(self) -> Transition:
        self._pump()
        return Transition(self.state.take_entries(), self.take_commands())

    def _pump(self) -> None:
        """Starts tasks and makes calls until neither is possible."""
        state, begun, fresh = self.state, self.begun_queue, self.fresh_queue
        open_calls, max_calls = state.open_calls, self.max_parallel
        while not self.is_pausing:
            self._let_tasks_arrive()
            while (begun or fresh) and len(open_calls) < max_calls:
                next_call.advance(self, begun.popleft() if begun else fresh.popleft())
            if state.is_stopping and not self.has_ended_unstarted:
                self.has_ended_unstarted = True
                task_start.end_all_unstarted(self)
            elif not state.released_tasks and (state.left_in_wave or not self._is_wave_due()):
                break
        if not open_calls and self.outcome is None:
            self._seal_or_pause()

    def _let_tasks_arrive(self) -> None:
        """Lets tasks arrive whose dependencies have all ended or, with waves, the tasks of the next wave."""
        state = self.state
        if not self.uses_waves:
            released, state.released_tasks = state.released_tasks, []
            for task in sorted(released, key=lambda task: task.order) if len(released) > 1 else released:
                task_start.arrive(self, task)
            return
        state.released_tasks.clear()
        if self._is_wave_due():
            number, tasks = state.waves_opened, self.plan.tasks
            causes = [] if state.last_ended_seq is None else [state.last_ended_seq]
            self.record("wave.opened", {"wave": number}, causes=causes)
            for name in self.plan.waves[number]:
                task_start.arrive(self, tasks[name])

    def _is_wave_due(self) -> bool:
        state, plan = self.state, self.plan
        if state.left_in_wave or state.is_stopping or not self.uses_waves:
            return False
        return state.waves_opened < len(plan.waves)

    def _seal_or_pause(self) -> None:
        """Seals or pauses the run, in which no call is open, unless a unit waits for a time."""
        state = self.state
        if self.is_pausing:
            self._pause("interrupted")
        elif state.ended_tasks == len(self.plan.tasks):
            self._seal()
        elif state.open_gates and all(unit.is_undecided for unit in self.waiting_units()):
            self._pause("gate")
        elif not self.waiting_units():
            raise RuntimeError("no call is open, no timer is set, and the run has not ended")

    def _pause(self, reason: str) -> None:
        self.record("run.paused", {"reason": reason})
        self.outcome = Outcome("paused", reason)

    def _seal(self) -> None:
        for name in sorted(self.plan.outputs):
            if name not in self.state.recorded_outputs:
                task_end.record_answer(self, name)
        counts = dict(self.state.counts)
        status = next((state for state in _WORST_FIRST if counts[state]), "passed")
        totals = {name: min(total, MAX_INTEGER) for name, total in self.state.budgets.totals.items()}
        self.record("run.sealed", {"status": status, "counts": counts, "totals": totals})
        self.outcome = Outcome(status)

    def _handle_time(self) -> None:
        """Stops a run that is out of time, and wakes the units whose time has come."""
        left_ms = self.wall_left_ms()
        is_time_up = left_ms is not None and left_ms <= 0 and self.state.ended_tasks < len(self.plan.tasks)
        if is_time_up and not self.state.is_out_of_time and not self.is_pausing:
            task_end.stop_out_of_time(self)
        while (unit := self.take_due()) is not None:
            if unit.is_undecided:
                task_start.pass_deadline(self, unit)
            self.enqueue(unit)

    def _pass_deadlines(self) -> None:
        for unit in self.state.units.values():
            deadline_us = unit.gate.deadline_us if unit.gate is not None and unit.is_undecided else None
            if deadline_us is not None and deadline_us <= self.state.now_us:
                task_start.pass_deadline(self, unit)
