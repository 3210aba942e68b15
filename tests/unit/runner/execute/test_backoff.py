"""How long a unit waits before it tries again."""

import hashlib

import pytest

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.machine.backoff import backoff_ms
from forum_runner.wave_plan.planned_task import RetryRule
from unit.runner.execute.small_runs import WORK, ByHand

RETRY = RetryRule(attempts=9, backoff_ms=1_000, max_backoff_ms=5_000)


@pytest.mark.requirement("RUN-RETRY-002")
def test_the_wait_is_a_function_of_run_unit_and_number() -> None:
    drawn = int(hashlib.sha256(b"run/a[0]/3").hexdigest()[:8], 16) % 1_001

    assert backoff_ms(RETRY, 3, "run", "a[0]") == 4_000 - 4_000 * drawn // 2_000


@pytest.mark.requirement("RUN-RETRY-002")
def test_waits_are_known() -> None:
    # d is 789, 817, 941, 516 and 98: the first eight digits of `printf run/a/1 | sha256sum`, modulo 1,001, and so on.
    assert [backoff_ms(RETRY, tries, "run", "a") for tries in (1, 2, 3, 4, 400)] == [606, 1_183, 2_118, 3_710, 4_755]


@pytest.mark.requirement("RUN-RETRY-002")
def test_no_backoff_is_no_wait() -> None:
    assert backoff_ms(RetryRule(attempts=9, backoff_ms=0, max_backoff_ms=5_000), 3, "run", "a") == 0


@pytest.mark.requirement("RUN-RETRY-002")
@pytest.mark.parametrize(("asked_ms", "waited_ms"), [(None, 0), (3_600_000, 3_600_000), (0, 0)])
def test_what_the_other_side_asks_for_counts_if_it_is_longer(asked_ms: int | None, waited_ms: int) -> None:
    hand = ByHand({"a": {**WORK, "retry": {"attempts": 2, "backoff": "0s"}}})
    hand.reply("a", "", failure=Failure(ErrorKind.RATE_LIMITED, "slow down", asked_ms))
    if waited_ms:
        assert hand.machine.next_wake_us() == hand.now_us + waited_ms * 1_000
        hand.pass_time(waited_ms)

    assert [entry.at_ms for entry in hand.story.of("task.started")] == [0, waited_ms]


@pytest.mark.requirement("RUN-RETRY-002")
def test_a_longer_backoff_goes_before_what_the_other_side_asks_for() -> None:
    hand = ByHand({"a": {**WORK, "retry": {"attempts": 2, "backoff": "1h", "max_backoff": "1h"}}})
    hand.reply("a", "", failure=Failure(ErrorKind.RATE_LIMITED, "slow down", 1))

    retry = RetryRule(attempts=2, backoff_ms=3_600_000, max_backoff_ms=3_600_000)
    assert hand.machine.next_wake_us() == hand.now_us + backoff_ms(retry, 1, hand.story.run, "a") * 1_000
