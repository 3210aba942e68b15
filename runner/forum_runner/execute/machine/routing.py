"""Routes a task with a lane to the agent whose keywords its instruction uses most."""

from __future__ import annotations

import re
from dataclasses import dataclass

from forum_runner.wave_plan.planned_task import PlannedTask
from forum_runner.wave_plan.wave_plan_reader import PlannedAgent, WavePlan

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Route:
    """The chosen agent. `by` is `only` if there was one candidate, else `keywords`.

    `scores` has the keywords of each candidate that the instruction contains.
    """

    agent: str
    by: str
    scores: dict[str, list[str]]


def route(plan: WavePlan, task: PlannedTask) -> Route:
    """Chooses the agent with the most keywords in the instruction; of several, the first by name.

    Candidates follow instructions and have all tiers of the task. An agent's domain counts as a keyword; delivered data
    does not count.
    """
    texts = [part for part in task.instruction or () if isinstance(part, str)]
    words = {word.casefold() for text in texts for word in _WORD.findall(text)}
    candidates = [
        name
        for name, agent in sorted(plan.agents.items())
        if all(tier in agent.adapters for tier in task.escalate) and _takes_instructions(plan, agent)
    ]
    scores = {name: sorted(words & _keywords(plan.agents[name])) for name in candidates}
    agent = max(candidates, key=lambda name: len(scores[name]))
    return Route(agent, "only" if len(candidates) == 1 else "keywords", scores)


def _keywords(agent: PlannedAgent) -> set[str]:
    return {word.casefold() for word in (*agent.keywords, agent.domain)}


def _takes_instructions(plan: WavePlan, agent: PlannedAgent) -> bool:
    adapter = plan.adapters.get(agent.adapters.get(agent.tier, ""))
    return adapter is not None and adapter.takes_instructions
