"""The state of a run at level 4: its units, their calls, and the tasks that have ended."""

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
    """The digest of the displayed body."""
    deadline: str | None
    decided_seq: int | None = None
    decision: str | None = None


@dataclass(slots=True)
class Unit:
    """A task without foreach, or one instance of a task with foreach."""

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
    last_attempt_ok: bool = False
    """Whether the last attempt finished with the status `ok`."""
    checks_passed: int = 0
    has_failed_check: bool = False
    is_reused: bool = False
    output: Body | None = None
    call: Call | None = None
    gate: Gate | None = None
    delivered_names: set[str] = field(default_factory=set)
    delivered_seq: int | None = None
    """The entry of the last delivery."""
    ending: Ending | None = None

    @property
    def has_started(self) -> bool:
        return self.attempts > 0 or self.is_reused


@dataclass(slots=True)
class Expansion:
    """The instances of a task with foreach. A unit is created when an entry first names it."""

    seq: int
    instances: int
    item_digests: tuple[str, ...] | None
    """The digest of each item's RFC 8785 form; None if their body is redacted, missing or wrong."""
    units: dict[int, Unit] = field(default_factory=dict)
    ended_count: int = 0
    good_count: int = 0
    """The number of instances that ended in one of `GOOD_STATES`."""
    tolerated_count: int = 0

    @property
    def are_all_tolerated(self) -> bool:
        """Whether there are instances, and all of them ended `tolerated`."""
        return 0 < self.instances == self.tolerated_count

    @property
    def has_started(self) -> bool:
        return any(unit.has_started for unit in self.units.values())

    def passed_units(self) -> Iterator[Unit]:
        """The instances that ended `passed`, in order."""
        for _, unit in sorted(self.units.items()):
            if unit.ending and unit.ending.state == "passed":
                yield unit


class Run:
    """The state of a run after the entries so far."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan = plan
        self.store = store
        self.budgets = Budgets(plan)
        self.is_paused = False
        self.waves_opened = 0
        self.open_calls: list[Call] = []
        self.expansions: dict[str, Expansion] = {}
        self.endings: dict[str, Ending] = {}
        self.recorded_outputs: set[str] = set()
        self._units: dict[str, Unit] = {}

    def task_of(self, unit: Unit) -> Task:
        return self.plan.tasks[unit.task]

    def unit(self, name: str) -> Unit | None:
        """The unit with this name; None if it does not exist at this point of the run."""
        if name in self.plan.tasks:
            if "foreach" in self.plan.tasks[name]:
                return None
            if name not in self._units:
                self._units[name] = self._new_unit(name, name, None)
            return self._units[name]
        match = _INSTANCE.fullmatch(name)
        expansion = self.expansions.get(match.group(1)) if match else None
        if not match or not expansion or int(match.group(2)) >= expansion.instances:
            return None
        index = int(match.group(2))
        if index not in expansion.units:
            expansion.units[index] = self._new_unit(name, match.group(1), index)
        return expansion.units[index]

    def _new_unit(self, name: str, task: str, index: int | None) -> Unit:
        fields: Mapping[str, Any] = self.plan.tasks[task]
        ladder = [(step["tier"], step["adapter"]) for step in fields.get("ladder", [])]
        return Unit(name, task, index, fields.get("agent"), ladder)

    def holds(self, unit: Unit) -> bool:
        """Whether the unit's result is accepted: it was reused, or its last attempt passed all checks."""
        checks = len(self.task_of(unit).get("accept", []))
        return unit.is_reused or (unit.last_attempt_ok and unit.checks_passed == checks)

    def open_call(self, unit: Unit, call: Call) -> None:
        unit.call = call
        self.open_calls.append(call)
        self.budgets.reserve(call)

    def close_call(self, unit: Unit, call: Call, usage: Mapping[str, int] | None) -> None:
        unit.call = None
        self.open_calls.remove(call)
        self.budgets.settle(call, usage)
