"""How many requests and tokens a minute an adapter is asked."""

import pytest

from forum_adapters.base import Usage
from forum_runner.execute.machine.rates import Rates
from unit.runner.execute.small_runs import RUN, WORK, ByHand, run

MINUTE_US = 60_000_000


def rates(**limits: int) -> Rates:
    return Rates({"small": limits})


@pytest.mark.requirement("RUN-RATE-001")
def test_a_request_too_many_waits_until_the_oldest_is_a_minute_old() -> None:
    of = rates(requests_per_minute=2)
    of.note("small", 0, 1)
    of.note("small", 10, 1)

    assert [of.free_at("small", now, 1) for now in (20, MINUTE_US - 1, MINUTE_US)] == [MINUTE_US, MINUTE_US, MINUTE_US]
    assert of.free_at("small", MINUTE_US + 5, 1) == MINUTE_US + 5


@pytest.mark.requirement("RUN-RATE-001")
def test_tokens_too_many_wait_until_enough_have_dropped_out() -> None:
    of = rates(tokens_per_minute=100)
    of.note("small", 0, 30)
    of.note("small", 10, 30)
    of.note("small", 20, 30)

    assert [of.free_at("small", 30, tokens) for tokens in (10, 40, 41, 71)] == [
        30,
        MINUTE_US,
        MINUTE_US + 10,
        MINUTE_US + 20,
    ]


@pytest.mark.requirement("RUN-RATE-001")
def test_a_call_that_is_larger_than_the_limit_waits_for_a_free_minute() -> None:
    of = rates(tokens_per_minute=100)
    assert of.free_at("small", 0, 1_000) == 0
    of.note("small", 0, 1_000)

    assert of.free_at("small", 10, 1_000) == MINUTE_US


@pytest.mark.requirement("RUN-RATE-001")
def test_what_a_call_used_takes_the_place_of_what_it_reserved() -> None:
    of = rates(tokens_per_minute=100)
    call = of.note("small", 0, 100)
    assert call is not None
    of.correct("small", call, 20)

    assert of.free_at("small", 10, 80) == 10
    assert of.free_at("small", 10, 81) == MINUTE_US


@pytest.mark.requirement("RUN-RATE-001")
def test_an_adapter_without_a_rate_is_free() -> None:
    assert rates(requests_per_minute=1).free_at("large", 5, 10**9) == 5


@pytest.mark.requirement("RUN-RATE-001", "RUN-ORDER-003")
def test_who_waits_for_a_rate_holds_nobody_up() -> None:
    story = run(
        {"a": WORK, "b": WORK, "c": WORK, "d": RUN},
        [{"output": "x"}],
        policy={"rates": {"small": {"requests_per_minute": 1}}},
    )

    assert story.starts == [(0, "a"), (0, "d"), (60_000, "b"), (120_000, "c")]


@pytest.mark.requirement("RUN-RATE-001")
def test_a_judge_counts_in_the_rate_of_its_adapter() -> None:
    hand = ByHand(
        {"a": {**WORK, "accept": [{"agent": "critic"}]}}, policy={"rates": {"small": {"requests_per_minute": 1}}}
    )
    hand.reply("a", "x", usage=Usage())
    assert hand.story.kinds == ["task.started", "task.finished"]
    hand.pass_time(60_000)

    assert hand.story.kinds == ["task.started", "task.finished", "verdict.asked"]
