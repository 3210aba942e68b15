"""The id and the plan of a run, which reports need in addition to its entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forum_runner.finding import visible
from forum_runner.wave_plan.planned_task import GateRule, Placeholder, PlannedTask
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
        """The task in the plan that a unit (a task or an instance) belongs to; None if there is none."""
        return self.tasks.get(task_of_unit(unit, self.tasks)) if unit is not None else None

    def question_of(self, gate: GateRule) -> str:
        """A gate's question in one line, with the run id filled in. Data and secrets appear as references."""
        question = "".join(part if isinstance(part, str) else self._placeholder_text(part) for part in gate.question)
        return visible(" ".join(question.split()))

    def _placeholder_text(self, part: Placeholder) -> str:
        if part.run is not None:
            return self.run
        return f"${{{{ needs.{part.need} }}}}" if part.need is not None else f"${{{{ inputs.{part.secret} }}}}"
