"""What a replay knows of the run so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.semantics.budgets import Budgets
from forum_runner.ledger.semantics.plan import Plan, PlannedTask
from forum_runner.ledger.semantics.violation import Violation

_INSTANCE = re.compile(r"(.*)\[(0|[1-9][0-9]{0,15})\]", re.DOTALL)

Reference = Mapping[str, Any]


@dataclass(slots=True)
class Call:
    """An attempt, or a check (`check` is its number) by a command or an agent, that is not over."""

    seq: int
    attempt: int
    agent: str | None
    reserved: Mapping[str, int]
    check: int | None = None
    by: str | None = None
    is_orphan: bool = False


class Unit:
    """A task without foreach, or an instance of one with it."""

    __slots__ = (
        "agent", "attempts", "attempts_at_step", "call", "checks_passed", "closed_at", "delivered", "delivered_at",
        "gate", "has_failed_check", "index", "is_ok", "name", "output", "reused", "state", "step", "task",
    )  # fmt: skip

    def __init__(self, name: str, task: PlannedTask, index: int | None) -> None:
        self.name = name
        self.task = task
        self.index = index
        self.agent: str | None = task.form.get("agent")
        self.state: str | None = None
        self.attempts = 0
        self.attempts_at_step = 0
        self.step = 0
        self.call: Call | None = None
        self.is_ok = False
        self.closed_at: int | None = None
        self.checks_passed = 0
        self.has_failed_check = False
        self.reused = False
        self.output: Reference | None = None
        self.delivered: set[str] | None = None
        self.delivered_at: int | None = None
        self.gate: Gate | None = None

    @property
    def has_begun(self) -> bool:
        return self.attempts > 0 or self.reused

    @property
    def holds(self) -> bool:
        """Whether the unit's result holds: reused, or an attempt that is ok and passed every check."""
        return self.reused or (self.is_ok and self.checks_passed == len(self.task.accept))


@dataclass(slots=True)
class Gate:
    seq: int
    shown: str
    deadline: str | None
    decision: str | None = None
    decided_at: int | None = None


@dataclass(frozen=True, slots=True)
class Expansion:
    """`items` are the digests of the items, or None if they cannot be read; `units` the instances that have begun."""

    seq: int
    instances: int
    items: list[bytes] | None
    units: dict[int, Unit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    seq: int
    state: str


class RunState:
    def __init__(self, plan: Plan, bodies: BodyReader) -> None:
        self.plan = plan
        self.bodies = bodies
        self.budgets = Budgets(plan)
        self.units: dict[str, Unit] = {}
        self.expansions: dict[str, Expansion] = {}
        self.ends: dict[str, End] = {}
        self.open_calls: dict[str, Unit] = {}
        self.orphans = 0
        self.waves_opened = 0
        self.is_paused = False
        self.answers: set[str] = set()

    def unit(self, name: str) -> Unit:
        found = self.units.get(name)
        if found is None:
            found = self.units[name] = self._new_unit(name)
        return found

    def _new_unit(self, name: str) -> Unit:
        task = self.plan.tasks.get(name)
        if task is not None and task.foreach is None:
            return Unit(name, task, None)
        instance = _INSTANCE.fullmatch(name)
        expansion = self.expansions.get(instance[1]) if instance else None
        if instance is None or expansion is None or int(instance[2]) >= expansion.instances:
            raise Violation("L402", f"'{name}' is no task, or instance of one, that could do this")
        unit = Unit(name, self.plan.tasks[instance[1]], int(instance[2]))
        expansion.units[int(instance[2])] = unit
        return unit

    def instances(self, task: str) -> list[Unit]:
        """The instances of a task that have an entry, in order."""
        expansion = self.expansions.get(task)
        return [unit for _, unit in sorted(expansion.units.items())] if expansion else []

    def open_call(self, unit: Unit, call: Call) -> None:
        self.budgets.reserve(unit.task, call.agent, call.reserved)
        if len(self.open_calls) >= self.plan.max_parallel:
            raise Violation("L413", f"more than {self.plan.max_parallel} calls would be open at once")
        unit.call = call
        self.open_calls[unit.name] = unit

    def close_call(self, unit: Unit, usage: Mapping[str, int] | None) -> None:
        call = unit.call
        if call is None:
            raise ValueError("no call is open")
        self.budgets.settle(unit.task, call.agent, call.reserved, usage)
        self.orphans -= call.is_orphan
        unit.call = None
        del self.open_calls[unit.name]
