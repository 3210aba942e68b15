"""How a task with a lane is routed to an agent."""

import json
from typing import Any

import pytest

from unit.runner.execute.small_runs import ROSTER, RUN, RecordedRun, outputs, run

AGENTS: dict[str, Any] = {
    "baker": {"domain": "Bread", "keywords": ["oven", "dough", "Straße"], "adapter": "small"},
    "cook": {"domain": "soup", "keywords": ["oven", "pot"], "adapters": {"cheap": "small", "frontier": "large"}},
    "helper": {"domain": "bread", "keywords": ["oven", "dough"], "adapter": "shell"},
}


def routed(instruction: str, agents: dict[str, Any] = AGENTS, **task: Any) -> RecordedRun:
    tasks = {"a": RUN, "out": {"lane": "auto", "instruction": instruction, **task}}
    roster = {**ROSTER, "agents": {"operator": {"adapter": "shell"}, **agents}}
    return run(tasks, outputs(a="soup pot", out="x"), roster=roster)


def chosen_agent(recorded: RecordedRun) -> str:
    return str(recorded.only("route.decided").data["agent"])


@pytest.mark.requirement("RUN-ROUTE-002")
def test_the_agent_with_the_most_matching_keywords_is_chosen_and_the_scores_are_recorded() -> None:
    recorded = routed("Put the soup into the pot, not into the oven.")

    decided = recorded.only("route.decided")
    assert decided.data == {"task": "out", "agent": "cook", "by": "keywords"}
    assert decided.bodies == {"scores": b'{"baker":["oven"],"cook":["oven","pot","soup"]}'}


@pytest.mark.requirement("RUN-ROUTE-002")
def test_ties_are_broken_by_name() -> None:
    assert chosen_agent(routed("Nothing that anybody knows.")) == "baker"


@pytest.mark.requirement("RUN-ROUTE-002")
def test_an_agent_without_the_tiers_of_the_task_is_not_a_candidate() -> None:
    recorded = routed("Knead the dough for the bread.", escalate=["frontier"])

    assert recorded.only("route.decided").data == {"task": "out", "agent": "cook", "by": "only"}
    assert recorded.only("route.decided").bodies == {"scores": b'{"cook":[]}'}


@pytest.mark.requirement("RUN-ROUTE-001")
@pytest.mark.parametrize(
    ("instruction", "words"),
    [
        ("The OVEN is hot", ["oven"]),
        ("Die STRASSE", ["strasse"]),
        ("oven_door", []),
        ("ovens", []),
        ("oven-door", ["oven"]),
        ("dough, dough and bread", ["bread", "dough"]),
    ],
)
def test_words_are_runs_of_letters_digits_and_underscores_case_folded(instruction: str, words: list[str]) -> None:
    scores = json.loads(routed(instruction).only("route.decided").bodies["scores"])

    assert scores["baker"] == words


@pytest.mark.requirement("RUN-ROUTE-001")
def test_references_separate_words_and_edge_data_is_ignored() -> None:
    recorded = routed("ov${{ needs.a }}en soup${{ run.id }}", needs=["a"])

    assert json.loads(recorded.only("route.decided").bodies["scores"]) == {"baker": [], "cook": ["soup"]}


@pytest.mark.requirement("RUN-ROUTE-002")
def test_every_instance_is_routed() -> None:
    source = {**RUN, "output": {"type": "array"}}
    each = {"lane": "auto", "instruction": "Soup.", "foreach": {"task": "a", "as": "item", "max": 2}}
    roster = {**ROSTER, "agents": {"operator": {"adapter": "shell"}, **AGENTS}}

    recorded = run({"a": source, "each": each}, outputs(a=[1, 2], each="x"), roster=roster)

    assert [entry.data["task"] for entry in recorded.of_kind("route.decided")] == ["each[0]", "each[1]"]
