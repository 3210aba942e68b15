"""The id and the plan of a run, which reports need in addition to its entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.unit_id import task_of_unit
from forum_runner.wave_plan.wave_plan_reader import WavePlan


@dataclass(frozen=True, slots=True)
class RunContext:
    """The id and the plan of a run. `plan` is None if the run has no plan or the plan cannot be read."""

    run: str = ""
    plan: WavePlan | None = None

    @property
    def name(self) -> str:
        return self.plan.metadata.name if self.plan else ""

    @property
    def waves(self) -> Sequence[Sequence[str]]:
        return self.plan.waves if self.plan else ()

    @property
    def tasks(self) -> Mapping[str, PlannedTask]:
        return self.plan.tasks if self.plan else {}

    @property
    def limits(self) -> Mapping[str, int]:
        return self.plan.policy.budget if self.plan else {}

    @property
    def outputs(self) -> Sequence[str]:
        return tuple(self.plan.outputs) if self.plan else ()

    def planned_task(self, unit: str | None) -> PlannedTask | None:
        """The task in the plan that a unit (a task or an instance) belongs to."""
        return self.tasks.get(task_of_unit(unit, self.tasks)) if unit is not None else None
