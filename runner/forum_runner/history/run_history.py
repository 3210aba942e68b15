"""The history of a run, built from its entries. Entries are not checked: that is the verifier's task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forum_runner.history.task_history import GateHistory, RecordedDecision, TaskHistory, TruncatedInput
from forum_runner.history.usage import UsageTotals
from forum_runner.history.working_time import WorkingTime, elapsed_us
from forum_runner.ledger.clock import parse_time
from forum_runner.ledger.read_entry import (
    MAINTENANCE_KINDS,
    SEAL,
    ReadEntry,
    get_amount,
    get_object,
    get_str,
    is_import,
)
from forum_runner.wave_plan.unit_id import task_of_unit

# Kinds of entries that do not end a pause. User-defined kinds (`x-`) do not end one either.
_ALLOWED_WHILE_PAUSED = MAINTENANCE_KINDS | {"gate.decided"}


@dataclass(slots=True)
class RunHistory:
    """The state of a run after some of its entries. Its size depends on the number of tasks, not of entries.

    `opened` is the `run.opened` entry, `first` and `last` are the first and the last entry of any kind, and `seal` is
    the last seal. `end` is the last entry of the run itself: its first seal or, without one, the last entry that is
    not maintenance. `entries` counts entries, and `kinds` counts them by kind. `end_states` and
    `instance_end_states` count ended tasks and instances. `budget` and `redactions` are the entries about budgets and
    redactions. `unreadable` counts lines that are not entries. `read_history` sets `head`, the hash of the last line.
    """

    opened: ReadEntry | None = None
    first: ReadEntry | None = None
    last: ReadEntry | None = None
    seal: ReadEntry | None = None
    end: ReadEntry | None = None
    pause_reason: str | None = None
    wave: int | None = None
    entries: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    tasks: dict[str, TaskHistory] = field(default_factory=dict)
    open_tasks: dict[str, TaskHistory] = field(default_factory=dict)
    end_states: Counter[str] = field(default_factory=Counter)
    instances: int = 0
    instance_end_states: Counter[str] = field(default_factory=Counter)
    usage: UsageTotals = field(default_factory=UsageTotals)
    attempts: int = 0
    outputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    budget: list[ReadEntry] = field(default_factory=list)
    redactions: list[ReadEntry] = field(default_factory=list)
    working_time: WorkingTime = field(default_factory=WorkingTime)
    unreadable: int = 0
    first_unreadable: int | None = None
    torn_bytes: int = 0
    head: str = ""

    @property
    def run(self) -> str:
        return self.first.run if self.first else ""

    @property
    def is_sealed(self) -> bool:
        return self.last is not None and self.last.kind == SEAL

    @property
    def is_import(self) -> bool:
        return self.opened is not None and is_import(self.opened)

    @property
    def status(self) -> str:
        """The status in the seal, or `paused`, `interrupted` or `unfinished` for a run without a seal."""
        if self.is_sealed and self.last is not None:
            return get_str(self.last.data, "status") or "sealed"
        if self.pause_reason is None:
            return "unfinished"
        return "interrupted" if self.pause_reason == "interrupted" else "paused"

    @property
    def states(self) -> Counter[str]:
        """How many tasks are in each state. Instances are not counted."""
        return self.end_states + Counter(task.state for task in self.open_tasks.values() if not task.is_instance)

    @property
    def reserved(self) -> UsageTotals:
        """The amounts that open calls may still use. `usage` already counts the calls themselves."""
        total = UsageTotals()
        for task in self.open_tasks.values():
            total.charge(task.reserved or {})
        return total

    @property
    def redacted_digests(self) -> frozenset[str | None]:
        return frozenset(get_str(entry.data, "digest") for entry in self.redactions)

    @property
    def elapsed_ms(self) -> int | None:
        """From the first entry to the end of the run, pauses included; None without entries or valid times."""
        elapsed = elapsed_us(self.first.at, self.end.at) if self.first and self.end else None
        return elapsed // 1_000 if elapsed is not None else None

    @property
    def active_us(self) -> int:
        """The time in which a process worked on the run, until the end of the run."""
        return self.working_time.between(self.first.at, self.end.at) if self.first and self.end else 0

    @property
    def active_ms(self) -> int:
        return self.active_us // 1_000

    def active_us_at(self, now_us: int) -> int:
        """`active_us` at a later time. It does not change while no process works on the run."""
        if self.end is None or self.seal is not None or self.working_time.idle_since is not None:
            return self.active_us
        try:
            return self.active_us + max(0, now_us - parse_time(self.end.at))
        except ValueError:
            return self.active_us

    def skip_line(self, number: int) -> None:
        """Counts a line that is not an entry."""
        self.unreadable += 1
        if self.first_unreadable is None:
            self.first_unreadable = number

    def apply(self, entry: ReadEntry) -> TaskHistory | None:
        """Adds an entry, and returns the task that it is about, if any."""
        kind = entry.kind
        self.entries += 1
        self.kinds[kind] += 1
        self.working_time.apply(entry, self.last)
        self.first = self.first or entry
        self.last = entry
        if self.seal is None and kind not in MAINTENANCE_KINDS:
            self.end = entry
        if kind not in _ALLOWED_WHILE_PAUSED and not kind.startswith("x-"):
            self.pause_reason = None
        task_step, name = _TASK_STEPS.get(kind), entry.task
        if task_step is None or name is None:
            self._apply_to_run(entry)
            return None
        task = self.tasks.get(name) or self._add_task(name)
        task.latest = entry
        task_step(self, task, entry)
        return task

    def _apply_to_run(self, entry: ReadEntry) -> None:
        match entry.kind:
            case "run.opened":
                self.opened = self.opened or entry
            case "run.paused":
                self.pause_reason = get_str(entry.data, "reason") or "paused"
            case "run.sealed":
                self.seal = entry
            case "wave.opened":
                self.wave = get_amount(entry.data, "wave")
            case "answer.given":
                self.outputs[get_str(entry.data, "output") or ""] = get_object(entry.bodies, "value")
            case "budget.stopped" | "budget.exceeded":
                self.budget.append(entry)
            case "body.redacted":
                self.redactions.append(entry)

    def _add_task(self, name: str) -> TaskHistory:
        parent = self.tasks.get(task_of_unit(name, self.tasks))
        task = TaskHistory(name, is_instance=parent is not None and parent.instances is not None)
        self.tasks[name] = self.open_tasks[name] = task
        return task


def _route_decided(_: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    task.agent = get_str(entry.data, "agent")


def _task_expanded(history: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    task.instances = get_amount(entry.data, "instances")
    history.instances += task.instances


def _task_started(history: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    task.attempts += 1
    history.attempts += 1
    task.agent, task.tier = get_str(entry.data, "agent"), get_str(entry.data, "tier")
    task.adapter = get_str(entry.data, "adapter")
    _open_call(history, task, entry, calls=1)


def _verdict_asked(history: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    _open_call(history, task, entry, calls=int(entry.data.get("by") == "agent"))


def _open_call(history: RunHistory, task: TaskHistory, entry: ReadEntry, calls: int) -> None:
    task.reserved = get_object(entry.data, "reserved")
    task.usage.calls += calls
    history.usage.calls += calls


def _close_call(history: RunHistory, task: TaskHistory, used: Mapping[str, Any]) -> None:
    task.reserved = None
    task.usage.charge(used)
    history.usage.charge(used)


def _task_finished(history: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    _close_call(history, task, get_object(entry.data, "usage"))
    task.failure = None if entry.data.get("status") == "ok" else entry
    if "output" in entry.bodies:
        task.output = get_object(entry.bodies, "output")


def _verdict_given(history: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    _close_call(history, task, get_object(entry.data, "usage"))
    verdict = get_str(entry.data, "verdict") or "none"
    task.verdicts[verdict] += 1
    task.failure = None if verdict == "pass" else entry


def _call_lost(history: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    """The usage of a lost call is unknown, so its reservation is charged."""
    _close_call(history, task, task.reserved or {})
    task.failure = entry
    if entry.kind == "verdict.lost":
        task.verdicts["lost"] += 1


def _task_reused(_: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    task.reused_from = get_str(entry.data, "run") or ""
    task.output = get_object(entry.bodies, "output")


def _task_ended(history: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    counts = history.instance_end_states if task.is_instance else history.end_states
    if task.end_state is not None:
        counts[task.end_state] -= 1
    task.end_state = get_str(entry.data, "state") or "ended"
    counts[task.end_state] += 1
    task.reason = get_str(entry.data, "reason")
    task.latest = None
    history.open_tasks.pop(task.id, None)
    if "detail" in entry.bodies:
        task.failure = entry


def _context_cut(_: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    kept_bytes, total_bytes = get_amount(entry.data, "kept_bytes"), get_amount(entry.data, "bytes")
    task.truncated += (TruncatedInput(get_str(entry.data, "as") or "?", kept_bytes, total_bytes),)


def _gate_opened(_: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    task.gate = GateHistory(entry)


def _gate_decided(_: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    task.gate = task.gate or GateHistory()
    task.gate.decision = RecordedDecision(
        get_str(entry.data, "decision") or "decided",
        get_str(entry.data, "by"),
        entry.actor,
        entry.data.get("authenticated") is True,
        "edited" in entry.bodies,
        get_object(entry.bodies, "reason") or None,
    )


def _escalation_raised(_: RunHistory, task: TaskHistory, entry: ReadEntry) -> None:
    task.escalations += ((get_str(entry.data, "from") or "", get_str(entry.data, "to") or ""),)


_TASK_STEPS: dict[str, Callable[[RunHistory, TaskHistory, ReadEntry], None]] = {
    "route.decided": _route_decided,
    "task.expanded": _task_expanded,
    "task.started": _task_started,
    "task.finished": _task_finished,
    "task.lost": _call_lost,
    "task.reused": _task_reused,
    "task.ended": _task_ended,
    "edge.delivered": lambda _history, _task, _entry: None,
    "context.cut": _context_cut,
    "gate.opened": _gate_opened,
    "gate.decided": _gate_decided,
    "verdict.asked": _verdict_asked,
    "verdict.given": _verdict_given,
    "verdict.lost": _call_lost,
    "escalation.raised": _escalation_raised,
}
