"""A run as its entries have told it so far: who is at work, how tasks ended, what was used and what is reserved.

What has ended is only counted, so the tally stays as small as what is under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forum_runner.ledger.read_entry import OF_THE_RECORD, amount, part, text
from forum_runner.ledger.usage import Usage

_BETWEEN_PROCESSES = OF_THE_RECORD | {"run.resumed"}


@dataclass(slots=True)
class Unit:
    """A task, or an instance of one, that has begun and not ended. `reserved` is what its open call may take."""

    task: str
    since_us: int
    doing: str = ""
    attempt: int = 0
    agent: str = ""
    tier: str = ""
    adapter: str = ""
    why_again: str = ""
    usage: Usage = field(default_factory=Usage)
    reserved: Mapping[str, Any] | None = None

    @property
    def is_at_work(self) -> bool:
        return self.reserved is not None

    @property
    def is_tried_again(self) -> bool:
        """It did not do at least once, and is at work again or waits for that."""
        return bool(self.why_again)


class Tally:
    """`ended` counts the plan's tasks by their states, as a seal does; instances are counted apart."""

    def __init__(self, wave_plan: Mapping[str, Any]) -> None:
        self.name: str = wave_plan.get("metadata", {}).get("name", "")
        self.tasks: Mapping[str, Mapping[str, Any]] = wave_plan.get("tasks", {})
        self.waves: Sequence[Collection[str]] = wave_plan.get("waves", ())
        self.limits: Mapping[str, int] = wave_plan.get("policy", {}).get("budget", {})
        self.units: dict[str, Unit] = {}
        self.ended: Counter[str] = Counter()
        self.instances = 0
        self.instances_ended: Counter[str] = Counter()
        self.wave = 0
        self.wave_ended = 0
        self.used = Usage()
        self.status: str | None = None
        self.paused: str | None = None
        self.at_us: int | None = None
        self.active_us = 0
        self._wave_tasks: frozenset[str] = frozenset()

    @property
    def reserved(self) -> Usage:
        """What open calls may still take. Their `calls` are used already: a call that began is a call."""
        total = Usage()
        for unit in self.units.values():
            if unit.reserved is not None:
                total.charge(unit.reserved)
        return total

    def checks_of(self, task: str) -> int:
        return len(self.form_of(task).get("accept", ()))

    def form_of(self, task: str) -> Mapping[str, Any]:
        """The plan's task of a unit: an instance's name has a number in brackets at its end."""
        form = self.tasks.get(task)
        return form if form is not None else self.tasks.get(task.rpartition("[")[0], {})

    def fold(self, at_us: int, kind: str, data: Mapping[str, Any]) -> Unit | None:
        """Takes in an entry, and gives the unit that it is about, also if that has ended with it."""
        self._pass_time(at_us, kind)
        step = _RUN_STEPS.get(kind)
        if step is not None:
            step(self, data)
            return None
        act = _UNIT_STEPS.get(kind)
        task = text(data, "task")
        if act is None or task is None:
            return None
        unit = self.units.get(task)
        if unit is None:
            unit = self.units[task] = Unit(task, at_us)
        act(self, unit, data)
        unit.since_us = at_us
        return unit

    def _pass_time(self, at_us: int, kind: str) -> None:
        """Time counts while a process is at it: not in a pause, and not between a crash and the resumption."""
        if self.at_us is not None and self.paused is None and kind not in _BETWEEN_PROCESSES:
            self.active_us += max(0, at_us - self.at_us)
        self.at_us = at_us

    def active_at(self, now_us: int) -> int:
        """How long the run has been at it; it stands still in a pause and after the end."""
        goes_on = self.at_us is not None and self.paused is None and self.status is None
        return self.active_us + (max(0, now_us - (self.at_us or 0)) if goes_on else 0)

    def end(self, unit: Unit, state: str) -> None:
        del self.units[unit.task]
        if unit.task not in self.tasks:
            self.instances_ended[state] += 1
            return
        self.ended[state] += 1
        self.wave_ended += unit.task in self._wave_tasks

    def open_wave(self, wave: int) -> None:
        self.wave = wave + 1
        self.wave_ended = 0
        self._wave_tasks = frozenset(self.waves[wave]) if wave < len(self.waves) else frozenset()


def _wave_opened(tally: Tally, data: Mapping[str, Any]) -> None:
    tally.open_wave(amount(data, "wave"))


def _paused(tally: Tally, data: Mapping[str, Any]) -> None:
    tally.paused = text(data, "reason") or "paused"


def _resumed(tally: Tally, _: Mapping[str, Any]) -> None:
    tally.paused = None


def _sealed(tally: Tally, data: Mapping[str, Any]) -> None:
    tally.status = text(data, "status") or "sealed"


def _expanded(tally: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    instances = amount(data, "instances")
    tally.instances += instances
    unit.doing = f"has {instances:,} instances"


def _routed(_: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    unit.agent = text(data, "agent") or ""
    unit.doing = "is due"


def _delivered(_: Tally, unit: Unit, __: Mapping[str, Any]) -> None:
    unit.doing = unit.doing or "is due"


def _started(tally: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    unit.attempt = amount(data, "attempt")
    unit.agent, unit.tier = text(data, "agent") or "", text(data, "tier") or ""
    unit.adapter = text(data, "adapter") or ""
    _begin_call(tally, unit, data, calls=1)
    unit.doing = "is working"


def _asked(tally: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    _begin_call(tally, unit, data, calls=int(data.get("by") == "agent"))
    judge = text(data, "agent") or f"a {text(data, 'by') or 'check'}"
    unit.doing = f"{check_words(tally, data)} by {judge}"


def _begin_call(tally: Tally, unit: Unit, data: Mapping[str, Any], calls: int) -> None:
    unit.reserved = part(data, "reserved")
    unit.usage.calls += calls
    tally.used.calls += calls


def _finished(tally: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    _charge(tally, unit, part(data, "usage"))
    status = text(data, "status")
    unit.why_again = "" if status == "ok" else text(data, "error") or status or "an error"
    unit.doing = "is done" if status == "ok" else f"waits after {unit.why_again}"


def _given(tally: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    _charge(tally, unit, part(data, "usage"))
    verdict = text(data, "verdict")
    if verdict == "fail":
        unit.why_again = "a verdict of fail"
    unit.doing = f"{check_words(tally, data)}: {'no verdict' if verdict == 'none' else verdict}"


def _lost(tally: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    """Nobody knows what it took, so it is charged what was reserved."""
    _charge(tally, unit, unit.reserved or {})
    unit.doing = f"{check_words(tally, data)} was lost" if "check" in data else "was lost"
    if "check" not in data:
        unit.why_again = "a loss"


def _charge(tally: Tally, unit: Unit, usage: Mapping[str, Any]) -> None:
    unit.reserved = None
    unit.usage.charge(usage)
    tally.used.charge(usage)


def _escalated(_: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    unit.doing = f"climbs to {text(data, 'to')}"


def _gate_opened(_: Tally, unit: Unit, __: Mapping[str, Any]) -> None:
    unit.doing = "waits for a decision"


def _gate_decided(_: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    unit.doing = f"is {text(data, 'decision')}"


def _reused(_: Tally, unit: Unit, __: Mapping[str, Any]) -> None:
    unit.doing = "is reused"


def _ended(tally: Tally, unit: Unit, data: Mapping[str, Any]) -> None:
    tally.end(unit, text(data, "state") or "ended")


def check_words(tally: Tally, data: Mapping[str, Any]) -> str:
    """`check 2 of 3`: people count from one."""
    return f"check {amount(data, 'check') + 1:,} of {tally.checks_of(text(data, 'task') or ''):,}"


_RUN_STEPS: dict[str, Callable[[Tally, Mapping[str, Any]], None]] = {
    "wave.opened": _wave_opened,
    "run.paused": _paused,
    "run.resumed": _resumed,
    "run.sealed": _sealed,
}
_UNIT_STEPS: dict[str, Callable[[Tally, Unit, Mapping[str, Any]], None]] = {
    "route.decided": _routed,
    "task.expanded": _expanded,
    "edge.delivered": _delivered,
    "task.started": _started,
    "task.finished": _finished,
    "task.lost": _lost,
    "task.reused": _reused,
    "task.ended": _ended,
    "gate.opened": _gate_opened,
    "gate.decided": _gate_decided,
    "verdict.asked": _asked,
    "verdict.given": _given,
    "verdict.lost": _lost,
    "escalation.raised": _escalated,
}
