"""The wave plan with what the machine derives from it: dependents, readers of outputs, limits of calls."""

from __future__ import annotations

from forum_runner.execute.machine.call_limits import COMMAND_CHECK_LIMITS, CallLimits, limits_of
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.wave_plan_reader import WavePlan


class RunPlan:
    def __init__(self, wave_plan: WavePlan) -> None:
        self.wave_plan = wave_plan
        self.policy = wave_plan.policy
        self.agents = wave_plan.agents
        self.adapters = wave_plan.adapters
        self.outputs = wave_plan.outputs
        self.waves = wave_plan.waves
        self.tasks = wave_plan.tasks
        self.is_in_waves = self.policy.is_in_waves
        self.max_parallel = self.policy.max_parallel
        # By adapter; a check by a command has none.
        self.call_limits: dict[str | None, CallLimits] = {name: limits_of(own) for name, own in self.adapters.items()}
        self.call_limits[None] = COMMAND_CHECK_LIMITS
        self.dependents: dict[str, list[PlannedTask]] = {}
        # How many tasks and outputs read a task's output.
        self.readers = dict.fromkeys(self.tasks, 0)
        for task in self.tasks.values():
            for name in task.depends_on:
                self.dependents.setdefault(name, []).append(task)
            for name in task.read_from:
                self.readers[name] += 1
        for value in self.outputs.values():
            for name in set(value.tasks()):
                self.readers[name] += 1
