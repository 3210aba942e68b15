"""Compiler checks for budgets that cannot be enforced or that no run could meet."""

from typing import Any

import pytest

from bundles import plan_finding_codes

PRICES = {"input": "1", "output": "2"}
PRICED = {"type": "scripted", "prices": PRICES}
MODEL = {"type": "openai", "base_url": "http://127.0.0.1/v1", "model": "m"}
ASK = {"agent": "asker", "instruction": "x"}


def finding_codes(
    task: dict[str, Any], adapter: dict[str, Any], *, run: Any = None, limits: Any = None, tasks: Any = None
) -> list[str]:
    agents = {"asker": {"adapter": "a"} | ({"limits": limits} if limits else {}), "judge": {"adapter": "free"}}
    roster = {"adapters": {"a": adapter, "free": {"type": "scripted"}}, "agents": agents}
    policy = {"allow": {"commands": ["*"]}} | ({"budget": run} if run else {})
    return plan_finding_codes({"tasks": {"ask": ASK | task} | (tasks or {})}, roster=roster, policy=policy)


@pytest.mark.requirement("COMPILE-BUDGET-001")
@pytest.mark.parametrize(
    ("adapter", "expected"),
    [
        (MODEL, ["F601"]),
        (MODEL | {"prices": PRICES}, []),
        ({"type": "command", "argv": ["cli"]}, ["F601"]),
        ({"type": "x-own"}, ["F601"]),
        ({"type": "scripted"}, []),
    ],
)
def test_a_usd_budget_needs_an_adapter_with_known_prices(adapter: dict[str, Any], expected: list[str]) -> None:
    assert finding_codes({"budget": {"usd": "1"}}, adapter) == expected
    assert finding_codes({}, adapter, run={"usd": "1"}) == expected
    assert finding_codes({}, adapter, limits={"usd": "1"}) == expected


@pytest.mark.requirement("COMPILE-BUDGET-001")
def test_a_program_named_by_the_task_costs_nothing() -> None:
    run = {"agent": "asker", "run": ["true"], "budget": {"usd": "1"}}
    roster = {"adapters": {"shell": {"type": "command"}}, "agents": {"asker": {"adapter": "shell"}}}

    assert plan_finding_codes({"tasks": {"run": run}}, roster=roster, policy={"allow": {"commands": ["true"]}}) == []


@pytest.mark.requirement("COMPILE-BUDGET-002")
@pytest.mark.parametrize(
    ("task_budget", "run_budget", "expected"),
    [
        ({"calls": 5}, {"calls": 4}, ["F602"]),
        ({"calls": 4}, {"calls": 4}, []),
        ({"tokens": 5, "wall": "2m"}, {"tokens": 4, "wall": "119s"}, ["F602", "F602"]),
        ({"usd": "0.11"}, {"usd": "0.1"}, ["F602"]),
        ({"output_bytes": 9}, {"calls": 4}, []),
    ],
)
def test_a_task_budget_may_not_exceed_the_run_budget(task_budget: Any, run_budget: Any, expected: list[str]) -> None:
    assert finding_codes({"budget": task_budget}, PRICED, run=run_budget) == expected


@pytest.mark.requirement("COMPILE-BUDGET-003")
def test_budgets_that_no_run_could_meet_are_rejected() -> None:
    judged = {"accept": [{"agent": "judge"}]}
    two_more = {f"t{n}": ASK for n in range(2)}

    assert finding_codes(judged | {"budget": {"calls": 1}}, PRICED) == ["F603"]
    assert finding_codes(judged | {"budget": {"calls": 2}}, PRICED) == []
    assert finding_codes({"budget": {"wall": "0s"}}, PRICED) == ["F603"]
    assert finding_codes({}, PRICED, run={"wall": "0ms"}) == ["F603"]
    assert finding_codes({"budget": {"usd": "0"}}, PRICED) == ["F603"]
    assert finding_codes({"budget": {"usd": "0"}}, {"type": "scripted"}) == []
    assert finding_codes(judged | {"budget": {"usd": "0"}}, PRICED) == []
    assert finding_codes({}, PRICED, run={"calls": 2}, tasks=two_more) == ["F603"]
    assert finding_codes({}, PRICED, run={"calls": 3}, tasks=two_more) == []
    assert finding_codes({}, PRICED, limits={"calls": 2}, tasks=two_more) == ["F603"]
    assert finding_codes({"matrix": {"n": [1, 2, 3]}}, PRICED, run={"calls": 2}) == ["F603"]


@pytest.mark.requirement("COMPILE-BUDGET-003")
def test_conditional_and_cached_tasks_need_no_calls() -> None:
    maybe = {"agent": "asker", "instruction": "x", "needs": ["ask"], "when": {"task": "ask", "output": {"const": "y"}}}

    assert finding_codes({}, PRICED, run={"calls": 1}, tasks={"maybe": maybe, "cached": ASK | {"cache": True}}) == []
