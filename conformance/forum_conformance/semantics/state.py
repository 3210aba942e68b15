"""The state of a run: its units, their calls, and the tasks that have ended."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from forum_conformance.bodies import Store
from forum_conformance.body_references import Body
from forum_conformance.semantics.budgets import Budgets
from forum_conformance.semantics.call import Call
from forum_conformance.semantics.plan import Plan, Task

_INSTANCE = re.compile(r"(.+)\[(0|[1-9][0-9]*)\]", re.DOTALL)
# Instances in these states do not prevent their task from passing.
GOOD_STATES = frozenset({"passed", "tolerated"})


@dataclass(frozen=True, slots=True)
class Ending:
    seq: int
    state: str


@dataclass(slots=True)
class Gate:
    seq: int
    displayed: str
    deadline: str | None
    decided_seq: int | None = None
    decision: str | None = None


@dataclass(slots=True)
class Unit:
    """A task without foreach, or an instance of one with it."""

    name: str
    task: str
    index: int | None
    agent: str | None
    ladder: list[tuple[str, str | None]]
    """Steps of tier and adapter; empty until a task with a lane is routed."""
    step: int = 0
    is_routed: bool = False
    attempts: int = 0
    attempts_at_step: int = 0
    closed_seq: int | None = None
    """The entry that closed the last attempt."""
    is_ok: bool = False
    """The last attempt finished `ok`."""
    checks_passed: int = 0
    is_check_failed: bool = False
    is_reused: bool = False
    output: Body | None = None
    call: Call | None = None
    gate: Gate | None = None
    delivered: set[str] = field(default_factory=set)
    delivered_seq: int | None = None
    ending: Ending | None = None

    @property
    def has_started(self) -> bool:
        return self.attempts > 0 or self.is_reused


@dataclass(slots=True)
class Expansion:
    """The instances of a task with foreach; each is created when an entry first names it."""

    seq: int
    instances: int
    item_digests: tuple[str, ...] | None
    """The digest of each item's RFC 8785 form; None if their body is redacted, missing or wrong."""
    units: dict[int, Unit] = field(default_factory=dict)
    ended: int = 0
    ended_well: int = 0
    tolerated: int = 0

    @property
    def is_all_tolerated(self) -> bool:
        """There are instances, and none of them has an output."""
        return 0 < self.instances == self.tolerated

    @property
    def has_started(self) -> bool:
        return any(unit.has_started for unit in self.units.values())

    def passed(self) -> Iterator[Unit]:
        """The instances that ended `passed`, in order."""
        for _, unit in sorted(self.units.items()):
            if unit.ending and unit.ending.state == "passed":
                yield unit


class Run:
    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan = plan
        self.store = store
        self.budgets = Budgets(plan)
        self.is_paused = False
        self.waves_opened = 0
        self.open_calls: list[Call] = []
        self.expansions: dict[str, Expansion] = {}
        self.endings: dict[str, Ending] = {}
        self.answered: set[str] = set()
        self._units: dict[str, Unit] = {}

    def task_of(self, unit: Unit) -> Task:
        return self.plan.tasks[unit.task]

    def unit(self, name: str) -> Unit | None:
        """The unit of that name, if it exists at this point."""
        if name in self.plan.tasks:
            if "foreach" in self.plan.tasks[name]:
                return None
            if name not in self._units:
                self._units[name] = self._new_unit(name, name, None)
            return self._units[name]
        found = _INSTANCE.fullmatch(name)
        expansion = self.expansions.get(found.group(1)) if found else None
        if not found or not expansion or int(found.group(2)) >= expansion.instances:
            return None
        index = int(found.group(2))
        if index not in expansion.units:
            expansion.units[index] = self._new_unit(name, found.group(1), index)
        return expansion.units[index]

    def _new_unit(self, name: str, task: str, index: int | None) -> Unit:
        fields: Mapping[str, Any] = self.plan.tasks[task]
        ladder = [(step["tier"], step["adapter"]) for step in fields.get("ladder", [])]
        return Unit(name, task, index, fields.get("agent"), ladder)

    def holds(self, unit: Unit) -> bool:
        """Whether the unit's result has passed its checks."""
        checks = len(self.task_of(unit).get("accept", []))
        return unit.is_reused or (unit.is_ok and unit.checks_passed == checks)

    def open_call(self, unit: Unit, call: Call) -> None:
        unit.call = call
        self.open_calls.append(call)
        self.budgets.reserve(call)

    def close_call(self, unit: Unit, call: Call, usage: Mapping[str, int] | None) -> None:
        unit.call = None
        self.open_calls.remove(call)
        self.budgets.settle(call, usage)
