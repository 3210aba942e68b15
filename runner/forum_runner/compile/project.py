"""A plan with its roster, its policy and all the plans that it uses: the input of the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from forum_runner.compile.matrix import instance_count, instances
from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.model import Agent, Plan, Policy, Roster, RosterAdapter, Task, Tier

MAX_PLAN_DEPTH = 16
MAX_TASKS = 100_000
MAX_EDGES = 1_000_000
MAX_TEXT_CHARACTERS = 100_000_000

FindPlan = Callable[[str, Origin], Plan | None]
Instances = list[tuple[str, Mapping[str, Any]]]
Ladder = list[tuple[Tier, RosterAdapter]]

_ONE_INSTANCE: Instances = [("", {})]


@dataclass(frozen=True, slots=True)
class Project:
    """A root plan with its roster, its policy and all used plans, by the origin of the task that uses each.

    If the roster or the policy is None, because it could not be read or a plan is checked on its own, the checks that
    need it are skipped.
    """

    root: Plan
    roster: Roster | None
    policy: Policy | None
    used_plans: Mapping[Origin, Plan] = field(default_factory=dict)
    _instances: dict[int, Instances] = field(default_factory=dict, compare=False)
    _ladders: dict[tuple[str | None, tuple[Tier, ...]], Ladder] = field(default_factory=dict, compare=False)

    def instances(self, task: Task) -> Instances:
        """The id suffix and the values of each instance, ordered by id; a task without a matrix has one instance."""
        if not task.matrix:
            return _ONE_INSTANCE
        if id(task) not in self._instances:
            self._instances[id(task)] = instances(task)
        return self._instances[id(task)]

    def used_plan(self, task: Task) -> Plan | None:
        """The plan that a task uses; None if it uses none, or one that is unknown, recursive or nested too deeply."""
        return self.used_plans.get(task.origin) if task.uses is not None else None

    def plans(self) -> list[Plan]:
        """Every plan once, the root first."""
        return list({id(plan): plan for plan in (self.root, *self.used_plans.values())}.values())

    def tasks(self) -> Iterator[Task]:
        """The tasks of every plan, before expansion."""
        return (task for plan in self.plans() for task in plan.tasks.values())

    def plans_inner_first(self) -> Iterator[Plan]:
        """Every plan once, after the plans that it uses."""
        visited: set[int] = set()

        def visit(plan: Plan) -> Iterator[Plan]:
            for task in plan.tasks.values():
                inner = self.used_plan(task)
                if inner is not None and id(inner) not in visited:
                    yield from visit(inner)
            visited.add(id(plan))
            yield plan

        return visit(self.root)

    def agent(self, name: str | None) -> Agent | None:
        return self.roster.agents.get(name) if self.roster and name else None

    def adapter(self, name: str | None) -> RosterAdapter | None:
        """The adapter of that name, or None if it or its type is unknown."""
        found = self.roster.adapters.get(name) if self.roster and name else None
        return found if found and found.type else None

    def instructable_agents(self) -> list[Agent]:
        """The agents that accept an instruction. An agent whose adapter runs programs does not."""
        agents = self.roster.agents.values() if self.roster else ()
        pairs = ((agent, self.adapter(agent.adapters.get(agent.tier))) for agent in agents)
        return [agent for agent, adapter in pairs if adapter and not adapter.runs_programs]

    def ladder(self, task: Task) -> Ladder:
        """The tiers of a task with their adapters; unknown adapters are left out. Empty if the agent is unknown."""
        key = (task.agent, task.escalate)
        if key not in self._ladders:
            agent = self.agent(task.agent)
            tiers = (agent.tier, *task.escalate) if agent else ()
            rungs = [(tier, self.adapter(agent.adapters.get(tier))) for tier in tiers if agent]
            self._ladders[key] = [(tier, adapter) for tier, adapter in rungs if adapter is not None]
        return self._ladders[key]

    def judges(self, task: Task) -> list[Agent]:
        """The agents that check a task's result; unknown agents are left out."""
        found = [self.agent(check.agent) for check in task.accept]
        return [agent for agent in found if agent is not None]


def collect_plans(root: Plan, find_plan: FindPlan) -> tuple[dict[Origin, Plan], list[ManifestFinding]]:
    """The plan of each `uses`, by the origin of its task, and a finding for each recursive or too deep plan.

    Plans with a finding and plans that `find_plan` does not find are left out.
    """
    used_plans: dict[Origin, Plan] = {}
    findings: list[ManifestFinding] = []
    heights: dict[int, int] = {}

    def visit(plan: Plan, path: tuple[Plan, ...]) -> None:
        height = 1
        for task in sorted(plan.tasks.values(), key=lambda task: task.id):
            if task.uses is None:
                continue
            origin = task.origin.at("uses")
            inner = find_plan(task.uses, origin)
            if inner is None:
                continue
            outer = (*path, plan)
            if any(inner is outer_plan for outer_plan in outer):
                start = next(index for index, outer_plan in enumerate(outer) if inner is outer_plan)
                loop = " -> ".join(_reference_to(outer_plan) for outer_plan in (*outer[start:], inner))
                if not origin.is_ambiguous():
                    findings.append(origin.finding("F705", f"recursive plan: {loop}"))
            elif len(outer) + heights.get(id(inner), 1) > MAX_PLAN_DEPTH:
                findings.append(origin.finding("F709", f"plans are nested more than {MAX_PLAN_DEPTH} levels deep"))
            else:
                used_plans[task.origin] = inner
                if id(inner) not in heights:
                    visit(inner, outer)
                height = max(height, 1 + heights[id(inner)])
        heights[id(plan)] = height

    visit(root, ())
    return used_plans, findings


def check_size(project: Project) -> Iterator[ManifestFinding]:
    """Checks the number of tasks and output values after expansion, before anything is expanded."""
    origin = project.root.origin.at("tasks")
    total = _expanded_sizes(project, lambda plan: plan.tasks.values())[id(project.root)]
    if total > MAX_TASKS:
        yield origin.key_finding("F708", f"the plan expands to {total:,} tasks; the limit is {MAX_TASKS:,}")
    if max(_expanded_sizes(project, _tasks_of_outputs).values()) > MAX_EDGES:
        yield origin.key_finding("F708", f"the outputs of used plans expand to more than {MAX_EDGES:,} values")


def _expanded_sizes(project: Project, select_tasks: Callable[[Plan], Iterable[Task]]) -> dict[int, int]:
    """The number of selected tasks in each plan after expansion, by the id() of the plan."""
    sizes: dict[int, int] = {}
    for plan in project.plans_inner_first():
        sizes[id(plan)] = sum(
            instance_count(task) * (sizes[id(inner)] if (inner := project.used_plan(task)) else 1)
            for task in select_tasks(plan)
        )
    return sizes


def _tasks_of_outputs(plan: Plan) -> list[Task]:
    return [plan.tasks[output.task] for output in plan.outputs.values() if output.task in plan.tasks]


def _reference_to(plan: Plan) -> str:
    """The reference that `uses` would need for a plan. An inline plan has no name."""
    document = plan.origin.document
    if plan.origin.path:
        return f"{document.file}: {plan.origin.path[-1]}"
    metadata = document.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{document.file}#{name}" if isinstance(name, str) else document.file
