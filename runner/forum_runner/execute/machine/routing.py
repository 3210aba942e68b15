"""Which agent a task with a lane is given to: the one whose words its instruction uses most."""

from __future__ import annotations

import re
from dataclasses import dataclass

from forum_runner.execute.machine.run_plan import RunPlan, TaskSpec

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Route:
    agent: str
    by: str
    scores: dict[str, list[str]]


def route(plan: RunPlan, task: TaskSpec) -> Route:
    """Of the agents that have all tiers of the task, the one with most of its keywords (its domain is one) in the
    instruction; of several, the first by name. What data edges bring has no say."""
    words = {word.casefold() for part in task.form.get("instruction", ()) if isinstance(part, str)
             for word in _WORD.findall(part)}  # fmt: skip
    tiers = task.form.get("escalate", ())
    able = [name for name, agent in sorted(plan.agents.items()) if all(tier in agent["adapters"] for tier in tiers)]
    candidates = [name for name in able if _takes_instructions(plan, name)]
    scores = {name: sorted(words & _keywords(plan, name)) for name in candidates}
    agent = max(candidates, key=lambda name: len(scores[name]))
    return Route(agent, "only" if len(candidates) == 1 else "keywords", scores)


def _keywords(plan: RunPlan, name: str) -> set[str]:
    agent = plan.agents[name]
    return {word.casefold() for word in (*agent.get("keywords", ()), agent.get("domain", ""))}


def _takes_instructions(plan: RunPlan, name: str) -> bool:
    agent = plan.agents[name]
    adapter = plan.adapters.get(agent["adapters"].get(agent["tier"], ""))
    return adapter is not None and (adapter["type"] != "command" or "argv" in adapter)
