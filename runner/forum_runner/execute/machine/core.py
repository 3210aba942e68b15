"""The parts of the machine that its modules share: plan, context, state, queues, timers and the commands to send."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from forum_adapters.base import Attempt, Site
from forum_runner.execute.machine.events import Cancel, Command, Outcome
from forum_runner.execute.machine.fingerprint import Fingerprints
from forum_runner.execute.machine.prompt_renderer import Renderer
from forum_runner.execute.machine.reply_parser import Schemas
from forum_runner.execute.machine.state import RunState
from forum_runner.execute.machine.unit import Unit
from forum_runner.ledger.recorded_body import AnyBody
from forum_runner.wave_plan.wave_plan_reader import AdapterSettings, WavePlan


class Reusable(NamedTuple):
    """A result of an earlier run that may replace an attempt.

    `source` is `from` for a base run and `cache` for the cache; `seq` is the entry that contains the result.
    """

    source: str
    run: str
    seq: int
    output: AnyBody


@dataclass(frozen=True, slots=True)
class Context:
    """The environment of the machine.

    Calls get `settings`, which contain the script if adapters are scripted. Checks by commands have no adapter and get
    `check_settings`. The machine calls `find_reusable` before a unit's first attempt.
    """

    run: str
    implementation: Mapping[str, str]
    settings: Mapping[str, AdapterSettings]
    check_settings: AdapterSettings
    site: Site = field(default_factory=Site)
    secrets: Mapping[str, str] = field(default_factory=dict)
    find_reusable: Callable[[Unit, str], Reusable | None] = lambda _unit, _fingerprint: None


class MachineCore:
    """Only entries change `state`. All other attributes follow from the state and are rebuilt when a run is resumed."""

    def __init__(self, plan: WavePlan, context: Context) -> None:
        self.plan = plan
        self.uses_waves = plan.policy.uses_waves
        self.max_parallel = plan.policy.max_parallel
        self.context = context
        self.state = RunState(plan, context.run)
        self.record = self.state.record
        self.schemas = Schemas(plan.schemas)
        self.fingerprints = Fingerprints(plan)
        self.renderer = Renderer(plan, context.run, context.secrets)
        # Renders prompts for ledgers and gates: with the names of secrets.
        self.public_renderer = Renderer(plan, context.run, None)
        self.wall_ms: int | None = plan.policy.budget.get("wall_ms")
        self.outcome: Outcome | None = None
        self.is_pausing = False
        # Whether the units that had not started were ended, because the run is stopping.
        self.has_ended_unstarted = False
        # Units that have begun go first, to finish work that was already paid for.
        self.begun_queue: deque[Unit] = deque()
        self.fresh_queue: deque[Unit] = deque()
        # Units that wait until open calls release their share of a budget.
        self.waiting_for_budget: list[Unit] = []
        self._timers: list[tuple[int, int, Unit]] = []
        self._numbers = count()
        self.commands: list[Command] = []
        self._has_cancels = False

    def cancel_all(self) -> None:
        self.commands += map(Cancel, self.state.open_calls)
        self._has_cancels = True

    def take_commands(self) -> list[Command]:
        commands, self.commands = self.commands, []
        if self._has_cancels:
            self._has_cancels = False
            # A call may have ended in the same step.
            open_calls = self.state.open_calls
            commands = [command for command in commands if isinstance(command, Attempt) or command.call in open_calls]
        return commands

    def enqueue(self, unit: Unit) -> None:
        (self.begun_queue if unit.has_begun else self.fresh_queue).append(unit)

    def wait(self, unit: Unit, until_us: int) -> None:
        """Suspends the unit until that time."""
        unit.resumes_us = until_us
        heappush(self._timers, (until_us, next(self._numbers), unit))

    def take_due(self) -> Unit | None:
        """The next unit whose time has come; None if there is none."""
        while self._timers and self._timers[0][0] <= self.state.now_us:
            due_us, _, unit = heappop(self._timers)
            if unit.state is None and unit.resumes_us == due_us:
                unit.resumes_us = None
                return unit
        return None

    def first_waiting_unit(self) -> Unit | None:
        """The unit with the earliest timer; None without timers."""
        return self._timers[0][2] if self._timers else None

    def waiting_units(self) -> list[Unit]:
        """The units that wait for a time."""
        return [unit for due_us, _, unit in self._timers if unit.state is None and unit.resumes_us == due_us]

    def wall_left_ms(self) -> int | None:
        """The time that the run has left; None without a budget of wall time."""
        return None if self.wall_ms is None else self.wall_ms - self.state.active_ms(self.state.now_us)

    def reset(self) -> None:
        """Forgets everything that is not in the ledger, as after a restart."""
        self.outcome = None
        self.is_pausing = self.has_ended_unstarted = False
        self.begun_queue.clear()
        self.fresh_queue.clear()
        self.waiting_for_budget.clear()
        self._timers.clear()
        for unit in self.state.units.values():
            unit.resumes_us = unit.check_error = None
            unit.losses = 0
