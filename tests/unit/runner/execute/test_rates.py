"""Rate limits: requests and tokens per minute of an adapter."""

import pytest

from forum_adapters.base import Usage
from forum_runner.execute.machine.rates import Rates
from unit.runner.execute.small_runs import RUN, WORK, ManualRun, run

MINUTE_US = 60_000_000


def rates(**limits: int) -> Rates:
    return Rates({"small": limits})


@pytest.mark.requirement("RUN-RATE-001")
def test_a_request_over_the_limit_waits_until_the_oldest_is_a_minute_old() -> None:
    limiter = rates(requests_per_minute=2)
    limiter.add("small", 0, 1)
    limiter.add("small", 10, 1)

    assert [limiter.free_at("small", now, 1) for now in (20, MINUTE_US - 1, MINUTE_US)] == [
        MINUTE_US,
        MINUTE_US,
        MINUTE_US,
    ]
    assert limiter.free_at("small", MINUTE_US + 5, 1) == MINUTE_US + 5


@pytest.mark.requirement("RUN-RATE-001")
def test_a_call_over_the_token_limit_waits_until_enough_tokens_expire() -> None:
    limiter = rates(tokens_per_minute=100)
    limiter.add("small", 0, 30)
    limiter.add("small", 10, 30)
    limiter.add("small", 20, 30)

    assert [limiter.free_at("small", 30, tokens) for tokens in (10, 40, 41, 71)] == [
        30,
        MINUTE_US,
        MINUTE_US + 10,
        MINUTE_US + 20,
    ]


@pytest.mark.requirement("RUN-RATE-001")
def test_a_call_larger_than_the_limit_waits_for_an_empty_minute() -> None:
    limiter = rates(tokens_per_minute=100)
    assert limiter.free_at("small", 0, 1_000) == 0
    limiter.add("small", 0, 1_000)

    assert limiter.free_at("small", 10, 1_000) == MINUTE_US


@pytest.mark.requirement("RUN-RATE-001")
def test_the_actual_usage_replaces_the_reservation() -> None:
    limiter = rates(tokens_per_minute=100)
    call = limiter.add("small", 0, 100)
    assert call is not None
    limiter.correct("small", call, 20)

    assert limiter.free_at("small", 10, 80) == 10
    assert limiter.free_at("small", 10, 81) == MINUTE_US


@pytest.mark.requirement("RUN-RATE-001")
def test_an_adapter_without_a_rate_never_waits() -> None:
    assert rates(requests_per_minute=1).free_at("large", 5, 10**9) == 5


@pytest.mark.requirement("RUN-RATE-001", "RUN-ORDER-003")
def test_a_task_waiting_for_a_rate_does_not_block_others() -> None:
    recorded = run(
        {"a": WORK, "b": WORK, "c": WORK, "d": RUN},
        [{"output": "x"}],
        policy={"rates": {"small": {"requests_per_minute": 1}}},
    )

    assert recorded.starts == [(0, "a"), (0, "d"), (60_000, "b"), (120_000, "c")]


@pytest.mark.requirement("RUN-RATE-001")
def test_a_judge_counts_towards_the_rate_of_its_adapter() -> None:
    manual = ManualRun(
        {"a": {**WORK, "accept": [{"agent": "critic"}]}}, policy={"rates": {"small": {"requests_per_minute": 1}}}
    )
    manual.reply("a", "x", usage=Usage())
    assert manual.recorded.kinds == ["task.started", "task.finished"]
    manual.pass_time(60_000)

    assert manual.recorded.kinds == ["task.started", "task.finished", "verdict.asked"]
