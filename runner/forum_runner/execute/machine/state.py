"""The state of a run. Only entries change it, so a run that is restored from its ledger is in the state that it had."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from forum_adapters.base import ErrorKind
from forum_runner.execute.machine.budgets import Budgets
from forum_runner.execute.machine.prompt_renderer import DeliveredValue, Feedback
from forum_runner.execute.machine.rates import Rates
from forum_runner.execute.machine.run_plan import RunPlan
from forum_runner.execute.machine.task_output import Output
from forum_runner.execute.machine.unit import Call, Ending, Expansion, GateState, Unit
from forum_runner.ledger.clock import read_time
from forum_runner.ledger.entry import NewEntry
from forum_runner.ledger.recorded_body import AnyBody, body_digest, bytes_or_empty, content_digest
from forum_runner.ledger.writer import NO_COUNTS
from forum_runner.wave_plan.plan_value import NoValueError
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.unit_id import instance_id

Data = Mapping[str, Any]
Bodies = Mapping[str, AnyBody]
_NO_BODIES: Bodies = {}


class RunState:
    def __init__(self, plan: RunPlan, run: str) -> None:
        self.plan = plan
        self.run = run
        self.budgets = Budgets(plan.wave_plan)
        self.rates = Rates(plan.policy.rates)
        self.seq = 0
        # One for each task, and one for each instance of a task with a `foreach`.
        self.units = {name: Unit(name, task) for name, task in plan.tasks.items()}
        self.expansions: dict[str, Expansion] = {}
        self.waiting_for = {name: len(task.depends_on) for name, task in plan.tasks.items()}
        self.counts = dict(NO_COUNTS)
        self.ended = 0
        self.calls: dict[str, Unit] = {}
        self.waves_opened = 0
        self.wave_left = 0
        self.readers = dict(plan.readers)
        self.blocks_order: set[str] = set()
        self.released: list[PlannedTask] = []
        self.answers: set[str] = set()
        # Units that have not started must not start.
        self.is_stopping = False
        self.is_out_of_budget = False
        self.is_out_of_time = False
        self.is_paused = False
        self.pause_reason = ""
        self.last_ended: int | None = None
        self.is_sealed = False
        self.open_gates = 0
        self.active_us = 0
        self.active_since_us: int | None = None
        # The time of the event, the entries that it led to, and the time of the last entry.
        self.now_us = 0
        self.new_entries: list[NewEntry] = []
        self.latest_us = 0
        self._applier_of = _APPLIERS.get

    def output(self, unit: str) -> Output:
        found = self.units.get(unit)
        if found is None or found.state != "passed" or found.output is None:
            raise NoValueError(f"'{unit}' has no output")
        return found.output

    def passed_instances(self, task: str) -> Sequence[str]:
        expansion = self.expansions.get(task)
        if expansion is None:
            raise NoValueError(f"'{task}' has no instances")
        return [unit.name for unit in expansion.units if unit.state == "passed" and unit.output is not None]

    def record(
        self, kind: str, data: Data, bodies: Bodies = _NO_BODIES, causes: Sequence[int] = (), actor: str = "runner"
    ) -> int:
        """Applies an entry that is still to be written, and returns its seq."""
        self.new_entries.append(NewEntry(kind, data, bodies, causes, actor))
        seq, at_us = self.seq, self.now_us
        self.seq = seq + 1
        self._applier_of(kind, _changes_nothing)(self, seq, at_us, data, bodies)
        self.latest_us = at_us
        return seq

    def apply(self, kind: str, at_us: int, data: Data, bodies: Bodies) -> int:
        """Applies an entry that is written, and returns its seq."""
        seq = self.seq
        self.seq = seq + 1
        self._applier_of(kind, _changes_nothing)(self, seq, at_us, data, bodies)
        self.latest_us = at_us
        return seq

    def take_entries(self) -> list[NewEntry]:
        entries, self.new_entries = self.new_entries, []
        return entries

    def state_of(self, task: str) -> str | None:
        return self.units[task].state

    def active_ms(self, now_us: int) -> int:
        """How long the run has been active: pauses and the time between two processes do not count."""
        running = 0 if self.active_since_us is None else now_us - self.active_since_us
        return (self.active_us + running) // 1_000

    def _opened(self, _seq: int, at_us: int, _data: Data, _bodies: Bodies) -> None:
        self.active_since_us = at_us

    def _paused(self, _seq: int, at_us: int, data: Data, _bodies: Bodies) -> None:
        self.is_paused = True
        self.pause_reason = data["reason"]
        self._stop_the_clock(at_us)

    def _stop_the_clock(self, at_us: int) -> None:
        if self.active_since_us is not None:
            self.active_us += at_us - self.active_since_us
            self.active_since_us = None

    def _noted(self, _seq: int, _at_us: int, _data: Data, _bodies: Bodies) -> None:
        """Another writer added an entry: the process had stopped with the entry before."""
        self._stop_the_clock(self.latest_us)

    def _resumed(self, _seq: int, at_us: int, _data: Data, _bodies: Bodies) -> None:
        # A process that did not pause was active until its last entry.
        self._stop_the_clock(self.latest_us)
        self.is_paused = False
        self.active_since_us = at_us
        for unit in self.calls.values():
            if unit.call is not None:
                unit.call.is_orphan = True

    def _wave_opened(self, _seq: int, _at_us: int, _data: Data, _bodies: Bodies) -> None:
        units = self.units
        self.wave_left = sum([units[name].state is None for name in self.plan.waves[self.waves_opened]])
        self.waves_opened += 1

    def _routed(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.agent = data["agent"]
        unit.ladder = self.plan.wave_plan.ladder_of(unit.task, data["agent"])

    def _expanded(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        task = self.plan.tasks[data["task"]]
        units = [Unit(instance_id(task.id, index), task, index) for index in range(data["instances"])]
        self.expansions[task.id] = Expansion(seq, Output(bodies["items"]), units, len(units))
        self.units.update((unit.name, unit) for unit in units)
        for unit in units:
            unit.cause = seq

    def _delivered(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        unit, name, body = self.units[data["task"]], data["as"], bodies["value"]
        if not unit.given:
            unit.given = {}
        # A sensitive value has no plain digest here: its content could be guessed from that.
        digest = f"{self.run}/{seq}" if body.is_sensitive else body_digest(body)
        unit.given[name] = DeliveredValue(name, body, unit.task.origin_of(name), digest)
        unit.delivered = seq

    def _cut(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        given = self.units[data["task"]].given
        whole = given[data["as"]]
        given[data["as"]] = DeliveredValue(whole.name, whole.body, whole.origin, whole.digest, data["kept_bytes"])

    def _gate_opened(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        deadline = read_time(data["deadline"]) if "deadline" in data else None
        self.units[data["task"]].gate = GateState(seq, body_digest(bodies["displayed"]), deadline)
        self.open_gates += 1

    def _gate_decided(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        gate = self.units[data["task"]].gate
        if gate is None:
            raise ValueError(f"no gate of '{data['task']}' is open")
        gate.decision, gate.by, gate.decided_seq = data["decision"], data["by"], seq
        gate.edited = bodies.get("edited")
        self.open_gates -= 1

    def _started(self, seq: int, at_us: int, data: Data, bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.attempts = data["attempt"]
        unit.has_begun = True
        unit.at_step += 1
        unit.fingerprint = data["fingerprint"]
        unit.checks_passed = unit.asked = 0
        unit.has_failed_check = False
        # If this attempt gets no answer, the next one needs the same feedback.
        unit.feedback = unit.last_feedback
        unit.ending = unit.resumes_us = None
        self._begin(unit, seq, at_us, data, None)
        if unit.may_repeat and "prompt" in bodies:
            unit.prompt = content_digest(bodies["prompt"])

    def _asked(self, seq: int, at_us: int, data: Data, _bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.asked += 1
        unit.resumes_us = None
        self._begin(unit, seq, at_us, data, data["check"])

    def _begin(self, unit: Unit, seq: int, at_us: int, data: Data, check: int | None) -> None:
        agent, adapter, reserved = data.get("agent"), data.get("adapter"), data["reserved"]
        task = unit.task.id
        timeout_ms = self.budgets.timeout(task, agent, self.plan.call_limits[adapter].timeout_ms)
        call = Call(f"{self.run}/{seq}", seq, data["attempt"], agent, adapter, reserved, timeout_ms, at_us, check)
        self.budgets.hold(task, agent, reserved, timeout_ms)
        if adapter is not None and self.rates.limits_anything:
            call.rate = self.rates.note(adapter, at_us, reserved["input_tokens"] + reserved["output_tokens"])
        unit.call = call
        self.calls[call.id] = unit

    def _close(self, unit: Unit, usage: Mapping[str, int] | None) -> Call:
        call = unit.call
        if call is None:
            raise ValueError(f"no call of '{unit.name}' is open")
        self.budgets.settle(unit.task.id, call.agent, call.reserved, call.timeout_ms, usage)
        if usage is not None and call.rate is not None and call.adapter is not None:
            self.rates.correct(call.adapter, call.rate, usage["input_tokens"] + usage["output_tokens"])
        unit.call = None
        del self.calls[call.id]
        return call

    def _finished(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        self._close(unit, data["usage"])
        unit.closed = seq
        status = data["status"]
        if status == "ok" or data.get("error") in _ANSWERED:
            unit.feedback = None
            if unit.prompt:
                unit.seen = (unit.seen or set()) | {unit.prompt}
        if status == "ok":
            unit.output = Output(bodies["output"])
            unit.ending = _OK
            return
        if status == "cancelled":
            unit.at_step -= 1
        detail: Mapping[str, Any] = orjson.loads(bytes_or_empty(bodies.get("detail")) or b"{}")
        error = ErrorKind(data["error"]) if "error" in data else None
        feedback = None
        if error is not None and error.is_answer:
            feedback = Feedback(detail.get("message", ""), bytes_or_empty(bodies.get("reply")))
        unit.ending = Ending(status, error, detail.get("retry_after_ms"), feedback)

    def _lost(self, seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        self._close(unit, None)
        unit.closed = seq
        unit.at_step -= 1
        unit.ending = Ending("lost")

    def _reused(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.reused = unit.has_begun = True
        unit.fingerprint = data["fingerprint"]
        unit.output = Output(bodies["output"])
        unit.closed = seq

    def _given(self, _seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        if data["by"] != "schema":
            self._close(unit, data["usage"])
        if data["verdict"] == "pass":
            unit.checks_passed += 1
            unit.asked = 0
        elif data["verdict"] == "fail":
            unit.has_failed_check = True
            reason = bytes_or_empty(bodies.get("reason")).decode(errors="replace") or "a check failed"
            unit.feedback = Feedback(reason, bytes_or_empty(unit.output.body if unit.output else None))

    def _verdict_lost(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        self._close(self.units[data["task"]], None)

    def _escalated(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.step += 1
        unit.at_step = 0
        unit.seen = None
        # The next tier gets the feedback about the last answer of the tier below.
        unit.feedback = unit.last_feedback
        unit.ending = None
        unit.has_failed_check = False

    def _ended(self, seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        name, state = data["task"], data["state"]
        unit = self.units[name]
        task = unit.task
        unit.state, unit.ended = state, seq
        unit.release()
        if unit.gate is not None and unit.gate.decision is None:
            self.open_gates -= 1
        if state in ("failed", "stopped") and self.plan.policy.on_failure == "stop":
            self.is_stopping = True
        if unit.index is not None:
            self.expansions[task.id].open -= 1
            return
        self.counts[state] += 1
        self.ended += 1
        self.last_ended = seq
        if task.wave == self.waves_opened - 1:
            self.wave_left -= 1
        if state != "passed" and self._blocks_order(task, state, data.get("reason")):
            self.blocks_order.add(name)
        for source in task.read_from:
            self.readers[source] -= 1
            self._release(source)
        self._release(name)
        waiting_for = self.waiting_for
        for dependent in self.plan.dependents.get(name, ()):
            waiting = dependent.id
            left = waiting_for[waiting] = waiting_for[waiting] - 1
            if not left:
                self.units[waiting].cause = seq
                self.released.append(dependent)

    def _blocks_order(self, task: PlannedTask, state: str, reason: str | None) -> bool:
        """Whether tasks that only come after this one must not start."""
        if state == "refused":
            return True
        if state == "skipped" and reason == "upstream":
            return not self.blocks_order.isdisjoint(task.depends_on)
        continues = self.plan.policy.on_failure == "continue"
        return not continues and (state in ("failed", "stopped", "cancelled") or reason == "failure")

    def _release(self, task: str) -> None:
        """Drops an output that has no readers left. Until its task ends, the task itself reads it."""
        unit = self.units[task]
        if self.readers[task] > 0 or unit.state is None:
            return
        unit.output = None
        if task in self.expansions:
            for instance in self.expansions[task].units:
                instance.output = None

    def _budget_stopped(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        if data["scope"] == "run":
            self.is_out_of_budget = self.is_stopping = True
            self.is_out_of_time = self.is_out_of_time or data["amount"] == "wall_ms"

    def _answered(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        self.answers.add(data["output"])

    def _sealed(self, _seq: int, _at_us: int, _data: Data, _bodies: Bodies) -> None:
        self.is_sealed = True


_OK = Ending("ok")
_ANSWERED = frozenset(kind.value for kind in ErrorKind if kind.is_answer)

Applier = Callable[[RunState, int, int, Data, Bodies], None]


def _changes_nothing(_state: RunState, _seq: int, _at_us: int, _data: Data, _bodies: Bodies) -> None:
    """For entries that do not affect the state."""


_APPLIERS: dict[str, Applier] = {
    "run.opened": RunState._opened,
    "run.paused": RunState._paused,
    "run.repaired": RunState._noted,
    "body.redacted": RunState._noted,
    "run.resumed": RunState._resumed,
    "run.sealed": RunState._sealed,
    "wave.opened": RunState._wave_opened,
    "route.decided": RunState._routed,
    "task.expanded": RunState._expanded,
    "task.started": RunState._started,
    "task.finished": RunState._finished,
    "task.lost": RunState._lost,
    "task.reused": RunState._reused,
    "task.ended": RunState._ended,
    "edge.delivered": RunState._delivered,
    "context.cut": RunState._cut,
    "gate.opened": RunState._gate_opened,
    "gate.decided": RunState._gate_decided,
    "verdict.asked": RunState._asked,
    "verdict.given": RunState._given,
    "verdict.lost": RunState._verdict_lost,
    "escalation.raised": RunState._escalated,
    "budget.stopped": RunState._budget_stopped,
    "answer.given": RunState._answered,
}
