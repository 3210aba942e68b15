"""The wave plan with values that the machine derives from it: limits of calls, dependents, readers of outputs."""

from __future__ import annotations

from forum_runner.execute.machine.call_limits import DEFAULT_TIMEOUT_MS, CallLimits, model_limits
from forum_runner.execute.machine.program_call import COMMAND_CHECK_LIMITS, program_limits
from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.wave_plan_reader import PlannedAdapter, WavePlan


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
        # By the name of the adapter; None is for checks by commands, which have no adapter.
        self.call_limits: dict[str | None, CallLimits] = {
            None: COMMAND_CHECK_LIMITS,
            **{name: limits_of(adapter) for name, adapter in self.adapters.items()},
        }
        self.dependents: dict[str, list[PlannedTask]] = {}
        # How many tasks and plan outputs read a task's output.
        self.reader_counts = dict.fromkeys(self.tasks, 0)
        for task in self.tasks.values():
            for name in task.depends_on:
                self.dependents.setdefault(name, []).append(task)
            for name in task.read_from:
                self.reader_counts[name] += 1
        for value in self.outputs.values():
            for name in set(value.tasks()):
                self.reader_counts[name] += 1


def limits_of(adapter: PlannedAdapter) -> CallLimits:
    """The limits of calls through this adapter."""
    timeout_ms = DEFAULT_TIMEOUT_MS if adapter.timeout_ms is None else adapter.timeout_ms
    return program_limits(adapter, timeout_ms) if adapter.is_program else model_limits(adapter, timeout_ms)
