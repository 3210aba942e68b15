"""How long a unit waits before a retry."""

import hashlib

import pytest

from forum_adapters.base import ErrorKind, Failure
from forum_runner.execute.machine.backoff import backoff_ms
from forum_runner.wave_plan.planned_task import RetryRule
from unit.runner.execute.small_runs import WORK, ManualRun

RETRY = RetryRule(attempts=9, backoff_ms=1_000, max_backoff_ms=5_000)


@pytest.mark.requirement("RUN-RETRY-002")
def test_the_backoff_depends_only_on_run_unit_and_attempt() -> None:
    jitter = int(hashlib.sha256(b"run/a[0]/3").hexdigest()[:8], 16) % 1_001

    assert backoff_ms(RETRY, 3, "run", "a[0]") == 4_000 - 4_000 * jitter // 2_000


@pytest.mark.requirement("RUN-RETRY-002")
def test_backoffs_match_known_answers() -> None:
    # d is 789, 817, 941, 516 and 98: the first eight digits of `printf run/a/1 | sha256sum`, modulo 1,001, and so on.
    assert [backoff_ms(RETRY, tries, "run", "a") for tries in (1, 2, 3, 4, 400)] == [606, 1_183, 2_118, 3_710, 4_755]


@pytest.mark.requirement("RUN-RETRY-002")
def test_a_backoff_of_zero_does_not_wait() -> None:
    assert backoff_ms(RetryRule(attempts=9, backoff_ms=0, max_backoff_ms=5_000), 3, "run", "a") == 0


@pytest.mark.requirement("RUN-RETRY-002")
@pytest.mark.parametrize(("requested_ms", "waited_ms"), [(None, 0), (3_600_000, 3_600_000), (0, 0)])
def test_a_longer_wait_requested_by_the_server_is_honoured(requested_ms: int | None, waited_ms: int) -> None:
    manual = ManualRun({"a": {**WORK, "retry": {"attempts": 2, "backoff": "0s"}}})
    manual.reply("a", "", failure=Failure(ErrorKind.RATE_LIMITED, "slow down", requested_ms))
    if waited_ms:
        assert manual.machine.next_wake_us() == manual.now_us + waited_ms * 1_000
        manual.pass_time(waited_ms)

    assert [entry.at_ms for entry in manual.recorded.of_kind("task.started")] == [0, waited_ms]


@pytest.mark.requirement("RUN-RETRY-002")
def test_a_backoff_longer_than_the_requested_wait_is_kept() -> None:
    manual = ManualRun({"a": {**WORK, "retry": {"attempts": 2, "backoff": "1h", "max_backoff": "1h"}}})
    manual.reply("a", "", failure=Failure(ErrorKind.RATE_LIMITED, "slow down", 1))

    retry = RetryRule(attempts=2, backoff_ms=3_600_000, max_backoff_ms=3_600_000)
    assert manual.machine.next_wake_us() == manual.now_us + backoff_ms(retry, 1, manual.recorded.run, "a") * 1_000
