"""The state of a run. Only entries change it, so a run that is restored from its ledger is in the state that it had."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from forum_adapters.base import ErrorKind
from forum_runner.execute.machine.budgets import Budgets
from forum_runner.execute.machine.call_limits import CallLimits
from forum_runner.execute.machine.program_call import COMMAND_CHECK_LIMITS, limits_of
from forum_runner.execute.machine.rates import Rates
from forum_runner.execute.machine.task_output import Output
from forum_runner.execute.machine.unit import Call, CallEnding, DeliveredValue, Expansion, Feedback, GateState, Unit
from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.entries import KINDS
from forum_runner.ledger.entry import NewEntry
from forum_runner.ledger.recorded_body import AnyBody, body_digest, bytes_or_empty, content_digest
from forum_runner.ledger.writer import NO_COUNTS
from forum_runner.wave_plan.plan_value import NoValueError
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.unit_id import instance_id
from forum_runner.wave_plan.wave_plan_reader import WavePlan

Data = Mapping[str, Any]
Bodies = Mapping[str, AnyBody]
_NO_BODIES: Bodies = {}


class RunState:
    """The state of a run. The method that applies an entry has the name of the entry's kind."""

    def __init__(self, plan: WavePlan, run: str) -> None:
        self.plan = plan
        self.run = run
        self.budgets = Budgets(plan)
        self.rates = Rates(plan.policy.rates)
        # By the name of the adapter; None is for checks by commands, which have no adapter.
        self.call_limits: dict[str | None, CallLimits] = {None: COMMAND_CHECK_LIMITS}
        self.call_limits.update((name, limits_of(adapter)) for name, adapter in plan.adapters.items())
        self.seq = 0
        # One for each task, and one for each instance of a task with a `foreach`.
        self.units = {name: Unit(name, task) for name, task in plan.tasks.items()}
        self.expansions: dict[str, Expansion] = {}
        self.open_dependencies = {name: len(task.depends_on) for name, task in plan.tasks.items()}
        self.counts = dict(NO_COUNTS)
        self.ended_tasks = 0
        self.open_calls: dict[str, Unit] = {}
        self.waves_opened = 0
        # How many tasks of the open wave have not ended.
        self.left_in_wave = 0
        self.dependents: dict[str, list[PlannedTask]] = {}
        # How many tasks that have not ended, and how many outputs of the plan, read a task's output.
        self.reader_counts = dict.fromkeys(plan.tasks, 0)
        self._connect_tasks()
        # Ended tasks whose successors must not start, even if only an `order` edge connects them.
        self.order_blockers: set[str] = set()
        self.released_tasks: list[PlannedTask] = []
        self.recorded_outputs: set[str] = set()
        # Units that have not started must not start.
        self.is_stopping = False
        self.is_out_of_budget = False
        self.is_out_of_time = False
        self.is_paused = False
        self.pause_reason = ""
        self.last_ended_seq: int | None = None
        self.is_sealed = False
        self.open_gates = 0
        self.active_us = 0
        self.active_since_us: int | None = None
        # The time of the event, the entries that it led to, and the time of the last entry.
        self.now_us = 0
        self.new_entries: list[NewEntry] = []
        self.last_entry_us = 0
        self._applier_of = _APPLIERS.get

    def _connect_tasks(self) -> None:
        for task in self.plan.tasks.values():
            for name in task.depends_on:
                self.dependents.setdefault(name, []).append(task)
            for name in task.read_from:
                self.reader_counts[name] += 1
        for value in self.plan.outputs.values():
            for name in set(value.tasks()):
                self.reader_counts[name] += 1

    def output(self, unit: str) -> Output:
        found = self.units.get(unit)
        if found is None or found.state != "passed" or found.output is None:
            raise NoValueError(f"'{unit}' has no output")
        return found.output

    def value(self, unit: str) -> Any:
        return self.output(unit).value

    def passed_instances(self, task: str) -> Sequence[str]:
        expansion = self.expansions.get(task)
        if expansion is None:
            raise NoValueError(f"'{task}' has no instances")
        return [unit.name for unit in expansion.units if unit.state == "passed" and unit.output is not None]

    def record(
        self, kind: str, data: Data, bodies: Bodies = _NO_BODIES, causes: Sequence[int] = (), actor: str = "runner"
    ) -> int:
        """Applies an entry that is not written yet, and returns its seq."""
        self.new_entries.append(NewEntry(kind, data, bodies, causes, actor))
        seq, at_us = self.seq, self.now_us
        self.seq = seq + 1
        self._applier_of(kind, _ignore_entry)(self, seq, at_us, data, bodies)
        self.last_entry_us = at_us
        return seq

    def apply(self, kind: str, at_us: int, data: Data, bodies: Bodies) -> int:
        """Applies an entry that a ledger contains, and returns its seq."""
        seq = self.seq
        self.seq = seq + 1
        self._applier_of(kind, _ignore_entry)(self, seq, at_us, data, bodies)
        self.last_entry_us = at_us
        return seq

    def take_entries(self) -> list[NewEntry]:
        entries, self.new_entries = self.new_entries, []
        return entries

    def state_of(self, task: str) -> str | None:
        return self.units[task].state

    def active_ms(self, now_us: int) -> int:
        """How long the run has been active, without pauses and the time between two processes."""
        running_us = 0 if self.active_since_us is None else now_us - self.active_since_us
        return (self.active_us + running_us) // 1_000

    def _run_opened(self, _seq: int, at_us: int, _data: Data, _bodies: Bodies) -> None:
        self.active_since_us = at_us

    def _run_paused(self, _seq: int, at_us: int, data: Data, _bodies: Bodies) -> None:
        self.is_paused = True
        self.pause_reason = data["reason"]
        self._stop_clock(at_us)

    def _stop_clock(self, at_us: int) -> None:
        if self.active_since_us is not None:
            self.active_us += at_us - self.active_since_us
            self.active_since_us = None

    def _run_repaired(self, _seq: int, _at_us: int, _data: Data, _bodies: Bodies) -> None:
        """Another writer added the entry, so the process of the run ended with the entry before it."""
        self._stop_clock(self.last_entry_us)

    _body_redacted = _run_repaired

    def _run_resumed(self, _seq: int, at_us: int, _data: Data, _bodies: Bodies) -> None:
        # A process that did not pause was active until its last entry.
        self._stop_clock(self.last_entry_us)
        self.is_paused = False
        self.active_since_us = at_us
        for unit in self.open_calls.values():
            if unit.call is not None:
                unit.call.is_orphan = True

    def _wave_opened(self, _seq: int, _at_us: int, _data: Data, _bodies: Bodies) -> None:
        units = self.units
        self.left_in_wave = sum([units[name].state is None for name in self.plan.waves[self.waves_opened]])
        self.waves_opened += 1

    def _route_decided(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.agent = data["agent"]
        unit.ladder = self.plan.ladder_of(unit.task, data["agent"])

    def _task_expanded(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        task = self.plan.tasks[data["task"]]
        units = [Unit(instance_id(task.id, index), task, index) for index in range(data["instances"])]
        self.expansions[task.id] = Expansion(seq, Output(bodies["items"]), units, len(units))
        self.units.update((unit.name, unit) for unit in units)
        for unit in units:
            unit.cause_seq = seq

    def _edge_delivered(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        unit, name, body = self.units[data["task"]], data["as"], bodies["value"]
        if not unit.delivered:
            unit.delivered = {}
        # A plain digest would reveal the content of a short sensitive value.
        digest = f"{self.run}/{seq}" if body.is_sensitive else body_digest(body)
        unit.delivered[name] = DeliveredValue(name, body, unit.task.origin_of(name), digest)
        unit.delivered_seq = seq

    def _context_cut(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        delivered, name = self.units[data["task"]].delivered, data["as"]
        delivered[name] = delivered[name]._replace(kept_bytes=data["kept_bytes"])

    def _gate_opened(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        deadline_us = parse_time(data["deadline"]) if "deadline" in data else None
        self.units[data["task"]].gate = GateState(seq, body_digest(bodies["displayed"]), deadline_us)
        self.open_gates += 1

    def _gate_decided(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        gate = self.units[data["task"]].gate
        if gate is None:
            raise ValueError(f"no gate of '{data['task']}' is open")
        gate.decision, gate.by, gate.decided_seq = data["decision"], data["by"], seq
        gate.edited = bodies.get("edited")
        self.open_gates -= 1

    def _task_started(self, seq: int, at_us: int, data: Data, bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.attempts = data["attempt"]
        unit.has_begun = True
        unit.attempts_at_step += 1
        unit.fingerprint = data["fingerprint"]
        unit.checks_passed = unit.check_tries = 0
        unit.has_failed_check = False
        # If this attempt gets no answer, the next one needs the same feedback.
        unit.feedback = unit.last_feedback
        unit.ending = unit.resumes_us = None
        self._open_call(unit, seq, at_us, data, None)
        if unit.may_repeat and "prompt" in bodies:
            unit.prompt_digest = content_digest(bodies["prompt"])

    def _verdict_asked(self, seq: int, at_us: int, data: Data, _bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.check_tries += 1
        unit.resumes_us = None
        self._open_call(unit, seq, at_us, data, data["check"])

    def _open_call(self, unit: Unit, seq: int, at_us: int, data: Data, check: int | None) -> None:
        agent, adapter, reserved = data.get("agent"), data.get("adapter"), data["reserved"]
        task = unit.task.id
        timeout_ms = self.budgets.limit_timeout(task, agent, self.call_limits[adapter].timeout_ms)
        call = Call(f"{self.run}/{seq}", seq, data["attempt"], agent, adapter, reserved, timeout_ms, at_us, check)
        self.budgets.hold(task, agent, reserved, timeout_ms)
        if adapter is not None and self.rates.limits_anything:
            call.rate_slot = self.rates.add(adapter, at_us, reserved["input_tokens"] + reserved["output_tokens"])
        unit.call = call
        self.open_calls[call.id] = unit

    def _close_call(self, unit: Unit, usage: Mapping[str, int] | None) -> None:
        call = unit.call
        if call is None:
            raise ValueError(f"no call of '{unit.name}' is open")
        self.budgets.settle(unit.task.id, call.agent, call.reserved, call.timeout_ms, usage)
        if usage is not None and call.rate_slot is not None and call.adapter is not None:
            self.rates.correct(call.adapter, call.rate_slot, usage["input_tokens"] + usage["output_tokens"])
        unit.call = None
        del self.open_calls[call.id]

    def _task_finished(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        self._close_call(unit, data["usage"])
        unit.closed_seq = seq
        status = data["status"]
        if status == "ok" or data.get("error") in _ANSWER_ERRORS:
            unit.feedback = None
            if unit.prompt_digest:
                unit.answered_prompts = (unit.answered_prompts or set()) | {unit.prompt_digest}
        if status == "ok":
            unit.output = Output(bodies["output"])
            unit.ending = _OK
            return
        if status == "cancelled":
            unit.attempts_at_step -= 1
        detail: Mapping[str, Any] = orjson.loads(bytes_or_empty(bodies.get("detail")) or b"{}")
        error = ErrorKind(data["error"]) if "error" in data else None
        feedback = None
        if error is not None and error.is_answer:
            feedback = Feedback(detail.get("message", ""), bytes_or_empty(bodies.get("reply")))
        unit.ending = CallEnding(status, error, detail.get("retry_after_ms"), feedback)

    def _task_lost(self, seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        self._close_call(unit, None)
        unit.closed_seq = seq
        unit.attempts_at_step -= 1
        unit.ending = CallEnding("lost")

    def _task_reused(self, seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.is_reused = unit.has_begun = True
        unit.fingerprint = data["fingerprint"]
        unit.output = Output(bodies["output"])
        unit.closed_seq = seq

    def _verdict_given(self, _seq: int, _at_us: int, data: Data, bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        if data["by"] != "schema":
            self._close_call(unit, data["usage"])
        if data["verdict"] == "pass":
            unit.checks_passed += 1
            unit.check_tries = 0
        elif data["verdict"] == "fail":
            unit.has_failed_check = True
            reason = bytes_or_empty(bodies.get("reason")).decode(errors="replace") or "a check failed"
            unit.feedback = Feedback(reason, bytes_or_empty(unit.output.body if unit.output else None))

    def _verdict_lost(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        self._close_call(self.units[data["task"]], None)

    def _escalation_raised(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        unit = self.units[data["task"]]
        unit.step += 1
        unit.attempts_at_step = 0
        unit.answered_prompts = None
        # The next tier gets the feedback about the last answer of the tier below.
        unit.feedback = unit.last_feedback
        unit.ending = None
        unit.has_failed_check = False

    def _task_ended(self, seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        name, state = data["task"], data["state"]
        unit = self.units[name]
        task = unit.task
        unit.state, unit.ended_seq = state, seq
        unit.release()
        if unit.gate is not None and unit.gate.decision is None:
            self.open_gates -= 1
        if state in ("failed", "stopped") and self.plan.policy.on_failure == "stop":
            self.is_stopping = True
        if unit.index is not None:
            self.expansions[task.id].open -= 1
            return
        self.counts[state] += 1
        self.ended_tasks += 1
        self.last_ended_seq = seq
        if task.wave == self.waves_opened - 1:
            self.left_in_wave -= 1
        if state != "passed" and self._blocks_order(task, state, data.get("reason")):
            self.order_blockers.add(name)
        for source in task.read_from:
            self.reader_counts[source] -= 1
            self._release(source)
        self._release(name)
        open_dependencies = self.open_dependencies
        for dependent in self.dependents.get(name, ()):
            id_ = dependent.id
            left = open_dependencies[id_] = open_dependencies[id_] - 1
            if not left:
                self.units[id_].cause_seq = seq
                self.released_tasks.append(dependent)

    def _blocks_order(self, task: PlannedTask, state: str, reason: str | None) -> bool:
        """Whether tasks that depend on this one only through an `order` edge must not start."""
        if state == "refused":
            return True
        if state == "skipped" and reason == "upstream":
            return not self.order_blockers.isdisjoint(task.depends_on)
        continues = self.plan.policy.on_failure == "continue"
        return not continues and (state in ("failed", "stopped", "cancelled") or reason == "failure")

    def _release(self, task: str) -> None:
        """Drops the output of a task that has ended and whose output has no readers left."""
        unit = self.units[task]
        if self.reader_counts[task] > 0 or unit.state is None:
            return
        unit.output = None
        if task in self.expansions:
            for instance in self.expansions[task].units:
                instance.output = None

    def _budget_stopped(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        if data["scope"] == "run":
            self.is_out_of_budget = self.is_stopping = True
            self.is_out_of_time = self.is_out_of_time or data["amount"] == "wall_ms"

    def _answer_given(self, _seq: int, _at_us: int, data: Data, _bodies: Bodies) -> None:
        self.recorded_outputs.add(data["output"])

    def _run_sealed(self, _seq: int, _at_us: int, _data: Data, _bodies: Bodies) -> None:
        self.is_sealed = True


_OK = CallEnding("ok")
# The errors of calls that got an unusable answer.
_ANSWER_ERRORS = frozenset(kind.value for kind in ErrorKind if kind.is_answer)

Applier = Callable[[RunState, int, int, Data, Bodies], None]


def _ignore_entry(_state: RunState, _seq: int, _at_us: int, _data: Data, _bodies: Bodies) -> None:
    """Applies an entry of a kind that does not change the state."""


# `task.started` is applied by `_task_started`, and so on. Other kinds do not change the state.
_APPLIERS: dict[str, Applier] = {
    kind: getattr(RunState, method) for kind in KINDS if hasattr(RunState, method := f"_{kind.replace('.', '_')}")
}
