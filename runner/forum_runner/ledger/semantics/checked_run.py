"""The state of a run, reconstructed from its entries for the rules of level 4."""

from __future__ import annotations

from dataclasses import dataclass, field

from forum_runner.ledger.body_reader import BodyReader
from forum_runner.ledger.entry_values import BodyReference, CallUsage, Reservation
from forum_runner.ledger.semantics.checked_budgets import CheckedBudgets
from forum_runner.ledger.verification.report import Violation
from forum_runner.wave_plan.plan_value import PlanValue
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.unit_id import split_instance_id
from forum_runner.wave_plan.wave_plan_reader import WavePlan


@dataclass(slots=True)
class CheckedCall:
    """An open attempt or, if `check` is its number, an open check by a command or an agent."""

    seq: int
    attempt: int
    agent: str | None
    reserved: Reservation
    check: int | None = None
    by: str | None = None
    is_orphan: bool = False


@dataclass(slots=True)
class CheckedGate:
    """A gate that entry `seq` opened, and its decision. `displayed` is the digest of the text that it displayed."""

    seq: int
    displayed: str
    deadline: str | None
    decision: str | None = None
    decided_seq: int | None = None


@dataclass(slots=True)
class CheckedUnit:
    """A task without foreach, or one instance of a task with foreach.

    `step` is the index of its rung in the ladder. `is_ok` is True if its last attempt succeeded. Later entries must
    name the entries `closed_seq`, `delivered_seq` and, of its gate, `decided_seq` as causes.
    """

    name: str
    task: PlannedTask
    index: int | None
    agent: str | None
    state: str | None = None
    attempts: int = 0
    attempts_at_step: int = 0
    step: int = 0
    call: CheckedCall | None = None
    is_ok: bool = False
    closed_seq: int | None = None
    checks_passed: int = 0
    has_failed_check: bool = False
    is_reused: bool = False
    output: BodyReference | None = None
    delivered: set[str] | None = None
    delivered_seq: int | None = None
    gate: CheckedGate | None = None

    @property
    def item_name(self) -> str | None:
        """The name under which an instance receives its item; None for a task without foreach."""
        return self.task.foreach.name if self.index is not None and self.task.foreach is not None else None

    def delivered_value(self, name: str) -> PlanValue | None:
        """The value that the data edge `name` delivers; None if the task has no such edge."""
        return next((edge.value for edge in self.task.edges if edge.name == name), None)

    @property
    def has_begun(self) -> bool:
        return self.attempts > 0 or self.is_reused

    @property
    def is_accepted(self) -> bool:
        """Whether the unit has a result: a reused one, or an attempt that succeeded and passed every check."""
        return self.is_reused or (self.is_ok and self.checks_passed == len(self.task.checks))


@dataclass(frozen=True, slots=True)
class CheckedExpansion:
    """The expansion of a task with foreach into instances.

    `items` are the digests of the items, None if they cannot be read. `units` are the instances that have entries.
    """

    seq: int
    instances: int
    items: list[bytes] | None
    units: dict[int, CheckedUnit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckedEnd:
    """The end of a task: the seq of its `task.ended` entry, and its final state."""

    seq: int
    state: str


class CheckedRun:
    """The run so far. `orphans` counts calls that were open when the run resumed and are not recorded as lost yet."""

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
        self.recorded_outputs: set[str] = set()

    def unit(self, name: str) -> CheckedUnit:
        """The unit with this name. Raises a Violation if the plan does not have it."""
        unit = self.units.get(name)
        if unit is None:
            unit = self.units[name] = self._new_unit(name)
        return unit

    def _new_unit(self, name: str) -> CheckedUnit:
        task = self.plan.tasks.get(name)
        if task is not None and task.foreach is None:
            return CheckedUnit(name, task, None, task.agent)
        template, index = split_instance_id(name) or ("", 0)
        expansion = self.expansions.get(template)
        if expansion is None or index >= expansion.instances:
            raise Violation("L402", f"'{name}' is neither a task without foreach nor an instance of an expanded task")
        task = self.plan.tasks[template]
        unit = expansion.units[index] = CheckedUnit(name, task, index, task.agent)
        return unit

    def instances(self, task: str) -> list[CheckedUnit]:
        """The instances of a task that have an entry, in order."""
        expansion = self.expansions.get(task)
        return [unit for _, unit in sorted(expansion.units.items())] if expansion else []

    def open_call(self, unit: CheckedUnit, call: CheckedCall) -> None:
        self.budgets.reserve(unit.task, call.agent, call.reserved)
        if len(self.open_calls) >= self.plan.policy.max_parallel:
            raise Violation("L413", f"more than {self.plan.policy.max_parallel} calls are open at once")
        unit.call = call
        self.open_calls[unit.name] = unit

    def close_call(self, unit: CheckedUnit, call: CheckedCall, usage: CallUsage | None) -> None:
        self.budgets.settle(unit.task, call.agent, call.reserved, usage)
        self.orphans -= call.is_orphan
        unit.call = None
        del self.open_calls[unit.name]
