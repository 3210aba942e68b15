"""The run so far, as its entries describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.semantics.checked_budgets import CheckedBudgets
from forum_runner.ledger.semantics.violation import Violation
from forum_runner.wave_plan.plan_value import PlanValue
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.unit_id import split_instance_id
from forum_runner.wave_plan.wave_plan_reader import WavePlan

Reference = Mapping[str, Any]


@dataclass(slots=True)
class CheckedCall:
    """An attempt, or a check (`check` is its number) by a command or an agent, that is not over."""

    seq: int
    attempt: int
    agent: str | None
    reserved: Mapping[str, int]
    check: int | None = None
    by: str | None = None
    is_orphan: bool = False


class CheckedUnit:
    """A task without foreach, or an instance of one with it."""

    __slots__ = (
        "agent", "attempts", "attempts_at_step", "call", "checks_passed", "closed_at", "delivered", "delivered_at",
        "gate", "has_failed_check", "index", "is_ok", "name", "output", "reused", "state", "step", "task",
    )  # fmt: skip

    def __init__(self, name: str, task: PlannedTask, index: int | None) -> None:
        self.name = name
        self.task = task
        self.index = index
        self.agent = task.agent
        self.state: str | None = None
        self.attempts = 0
        self.attempts_at_step = 0
        self.step = 0
        self.call: CheckedCall | None = None
        self.is_ok = False
        self.closed_at: int | None = None
        self.checks_passed = 0
        self.has_failed_check = False
        self.reused = False
        self.output: Reference | None = None
        self.delivered: set[str] | None = None
        self.delivered_at: int | None = None
        self.gate: CheckedGate | None = None

    @property
    def item_name(self) -> str | None:
        """The name under which an instance gets its item."""
        return self.task.foreach.name if self.index is not None and self.task.foreach is not None else None

    def delivered_value(self, name: str) -> PlanValue | None:
        """The value that a data edge of this name delivers."""
        return next((edge.value for edge in self.task.edges if edge.name == name), None)

    @property
    def has_begun(self) -> bool:
        return self.attempts > 0 or self.reused

    @property
    def holds(self) -> bool:
        """Whether the unit's result holds: reused, or an attempt that is ok and passed every check."""
        return self.reused or (self.is_ok and self.checks_passed == len(self.task.checks))


@dataclass(slots=True)
class CheckedGate:
    seq: int
    displayed: str
    deadline: str | None
    decision: str | None = None
    decided_at: int | None = None


@dataclass(frozen=True, slots=True)
class CheckedExpansion:
    """`items` are the digests of the items, or None if they cannot be read; `units` the instances that have begun."""

    seq: int
    instances: int
    items: list[bytes] | None
    units: dict[int, CheckedUnit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckedEnd:
    seq: int
    state: str


class CheckedRun:
    def __init__(self, plan: WavePlan, bodies: BodyReader) -> None:
        self.plan = plan
        self.bodies = bodies
        self.budgets = CheckedBudgets(plan)
        self.units: dict[str, CheckedUnit] = {}
        self.expansions: dict[str, CheckedExpansion] = {}
        self.ends: dict[str, CheckedEnd] = {}
        self.open_calls: dict[str, CheckedUnit] = {}
        self.orphans = 0
        self.waves_opened = 0
        self.is_paused = False
        self.answers: set[str] = set()

    def unit(self, name: str) -> CheckedUnit:
        found = self.units.get(name)
        if found is None:
            found = self.units[name] = self._new_unit(name)
        return found

    def _new_unit(self, name: str) -> CheckedUnit:
        task = self.plan.tasks.get(name)
        if task is not None and task.foreach is None:
            return CheckedUnit(name, task, None)
        template, index = split_instance_id(name) or ("", 0)
        expansion = self.expansions.get(template)
        if expansion is None or index >= expansion.instances:
            raise Violation("L402", f"'{name}' is neither a task nor an instance that could do this")
        unit = expansion.units[index] = CheckedUnit(name, self.plan.tasks[template], index)
        return unit

    def instances(self, task: str) -> list[CheckedUnit]:
        """The instances of a task that have an entry, in order."""
        expansion = self.expansions.get(task)
        return [unit for _, unit in sorted(expansion.units.items())] if expansion else []

    def open_call(self, unit: CheckedUnit, call: CheckedCall) -> None:
        self.budgets.reserve(unit.task, call.agent, call.reserved)
        if len(self.open_calls) >= self.plan.policy.max_parallel:
            raise Violation("L413", f"more than {self.plan.policy.max_parallel} calls would be open at once")
        unit.call = call
        self.open_calls[unit.name] = unit

    def close_call(self, unit: CheckedUnit, usage: Mapping[str, int] | None) -> None:
        call = unit.call
        if call is None:
            raise ValueError("no call is open")
        self.budgets.settle(unit.task, call.agent, call.reserved, usage)
        self.orphans -= call.is_orphan
        unit.call = None
        del self.open_calls[unit.name]
