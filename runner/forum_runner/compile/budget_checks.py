"""Checks budgets. A budget that cannot be enforced or met is reported before anything is spent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from forum_runner.compile.matrix import instance_count
from forum_runner.compile.permissions import reachable_adapters, usable_adapters
from forum_runner.compile.project import Project
from forum_runner.document import Origin
from forum_runner.finding import ManifestFinding
from forum_runner.manifest.raw_value import is_present
from forum_runner.manifest.units import counted, format_duration, format_usd
from forum_runner.model import Budget, RosterAdapter, Task

# The field of the model, the field of the manifest, and the format of its value.
_FIELDS: tuple[tuple[str, str, Callable[[int], str]], ...] = (
    ("calls", "calls", lambda number: counted(number, "call")),
    ("input_tokens", "input_tokens", lambda number: counted(number, "input token")),
    ("output_tokens", "output_tokens", lambda number: counted(number, "output token")),
    ("tokens", "tokens", lambda number: counted(number, "token")),
    ("micro_usd", "usd", format_usd),
    ("wall_ms", "wall", format_duration),
    ("output_bytes", "output_bytes", lambda number: f"{counted(number, 'byte')} of output"),
)
_TOTAL = ""  # the key of the total in counts by agent


def check_budgets(project: Project) -> Iterator[ManifestFinding]:
    policy = project.policy
    if policy is None or project.roster is None:
        return
    yield from _check_budget(policy.budget, "the run", reachable_adapters(project).values())
    for agent in project.roster.agents.values():
        if agent.limits:
            adapters = (project.adapter(name) for name in agent.adapters.values())
            known = [adapter for adapter in adapters if adapter]
            yield from _check_budget(agent.limits, f"agent '{agent.name}'", known)
    for task in project.tasks():
        if task.budget:
            yield from _check_task(task, project, task.budget, policy.budget)
    yield from _check_calls(project, policy.budget)


def _check_task(task: Task, project: Project, budget: Budget, run: Budget) -> Iterator[ManifestFinding]:
    origin = budget.origin or task.origin
    yield from _check_budget(budget, f"task '{task.id}'", usable_adapters(task, project))
    min_calls = 1 + len(project.judges(task))
    if budget.calls is not None and budget.calls < min_calls:
        calls = counted(min_calls, "call") + (" with its judges" if min_calls > 1 else "")
        message = f"task '{task.id}' needs at least {calls}, but its budget allows {budget.calls:,}"
        yield origin.at("calls").finding("F603", message)
    for field, name, format_value in _FIELDS:
        task_limit, run_limit = getattr(budget, field), getattr(run, field)
        if task_limit is not None and run_limit is not None and task_limit > run_limit:
            allowed, available = format_value(task_limit), format_value(run_limit)
            message = f"task '{task.id}' may use {allowed}, but the run may use only {available}"
            yield origin.at(name).finding("F602", message)


def _check_budget(budget: Budget, owner: str, adapters: Iterable[RosterAdapter]) -> Iterator[ManifestFinding]:
    origin = budget.origin
    if origin is None:
        return
    if budget.wall_ms == 0:
        yield origin.at("wall").finding("F603", f"the 'wall' budget of {owner} is 0, so it cannot do any work")
    if budget.micro_usd is None:
        return
    adapters = list(adapters)
    charged = [adapter for adapter in adapters if not adapter.is_free]
    # Invalid prices have their own finding.
    charged = [adapter for adapter in charged if adapter.prices or not is_present(adapter.origin.at("prices"))]
    unpriced = sorted({adapter.name for adapter in charged if adapter.prices is None})
    if unpriced:
        listed = ("adapter " if len(unpriced) == 1 else "adapters ") + ", ".join(f"'{name}'" for name in unpriced)
        message = f"the 'usd' budget of {owner} cannot be enforced: no prices for {listed}"
        yield origin.at("usd").finding("F601", message, "add 'prices' to the adapter; use zero if it is free")
    priced = sorted({a.name for a in adapters if a.prices and a.prices.input + a.prices.output > 0})
    if budget.micro_usd == 0 and priced and len(priced) == len({adapter.name for adapter in adapters}):
        message = f"{owner} may spend nothing, but adapter '{priced[0]}' costs money"
        yield origin.at("usd").finding("F603", message)


def _check_calls(project: Project, run: Budget) -> Iterator[ManifestFinding]:
    """Checks that the budgets of the run and of agents allow the calls that every successful run makes."""
    min_calls = _count_calls(project)
    total = min_calls.pop(_TOTAL, 0)
    if run.calls is not None and run.origin and run.calls < total:
        message = f"the tasks need at least {counted(total, 'call')}, but the run's budget allows {run.calls:,}"
        yield run.origin.at("calls").finding("F603", message)
    for name, count in sorted(min_calls.items()):
        agent = project.agent(name)
        if agent and agent.limits and agent.limits.calls is not None and agent.limits.calls < count:
            origin: Origin = agent.limits.origin or agent.origin
            message = (
                f"agent '{name}' needs at least {counted(count, 'call')}, but its limits allow {agent.limits.calls:,}"
            )
            yield origin.at("calls").finding("F603", message)


def _count_calls(project: Project) -> dict[str, int]:
    """The minimum number of calls of a successful run, by agent and in total (with the key `_TOTAL`).

    Each task counts one call, and one for each judge. Tasks that may make no call (`when`, `foreach`, `cache`) do not
    count. A used plan is counted once, then multiplied.
    """
    counts: dict[int, dict[str, int]] = {}
    for plan in project.plans_inner_first():
        plan_counts: dict[str, int] = defaultdict(int)
        for task in plan.tasks.values():
            if task.when or task.foreach or task.cache:
                continue
            inner, instances = project.used_plan(task), instance_count(task)
            if inner is not None:
                for name, number in counts[id(inner)].items():
                    plan_counts[name] += number * instances
            elif task.uses is None:
                agents = [task.agent, *(check.agent for check in task.accept if check.agent)]
                plan_counts[_TOTAL] += len(agents) * instances
                for name in filter(None, agents):
                    plan_counts[name] += instances
        counts[id(plan)] = plan_counts
    return counts[id(project.root)]
