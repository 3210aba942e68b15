"""Which errors are retried, which escalate, and when a prompt is not repeated."""

from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from unit.runner.execute.small_runs import FAIL, RUN, WORK, ManualRun, run

TWICE = {"retry": {"attempts": 2, "backoff": "1s"}}
ESCALATING = {"escalate": ["frontier"]}
CANCELLED = Failure(ErrorKind.CANCELLED)


def after(kind: str, **task: Any) -> str:
    """Return what follows an attempt that ended with this error."""
    manual = ManualRun({"a": {**WORK, **task}})
    manual.reply("a", "", failure=Failure(ErrorKind(kind), "said"))
    if manual.outcome is None and not manual.open:
        return "waits"
    last = manual.recorded.entries[-1]
    return last.data["tier"] if last.kind == "task.started" else manual.recorded.ends["a"]


@pytest.mark.requirement("RUN-ERROR-001")
@pytest.mark.parametrize(
    ("kinds", "retried", "escalated"),
    [
        ("timeout network tool_failure exit_status rate_limited model_unavailable", "waits", "failed/error"),
        ("malformed schema_mismatch", "cheap", "frontier"),
        ("context_length", "failed/error", "frontier"),
        ("quota_exhausted auth invalid_request content_filter output_limit internal", "failed/error", "failed/error"),
        ("cancelled", "cheap", "cheap"),
    ],
)
def test_each_error_kind_is_retried_or_escalated_as_specified(kinds: str, retried: str, escalated: str) -> None:
    actual = {kind: (after(kind, **TWICE), after(kind, **ESCALATING)) for kind in kinds.split()}

    assert actual == dict.fromkeys(kinds.split(), (retried, escalated))


@pytest.mark.requirement("RUN-ERROR-001")
def test_every_error_kind_is_covered() -> None:
    assert {kind.value for kind in ErrorKind} == set(
        "timeout network tool_failure exit_status rate_limited model_unavailable malformed schema_mismatch "
        "context_length quota_exhausted auth invalid_request content_filter output_limit internal cancelled".split()
    )


@pytest.mark.requirement("RUN-ERROR-001", "RUN-BUDGET-005")
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_a_call_that_the_server_rejected_costs_nothing(kind: ErrorKind) -> None:
    manual = ManualRun({"a": WORK})
    manual.reply("a", "", failure=Failure(kind))

    is_free = manual.recorded.only("task.finished").data["usage"]["input_tokens"] == 0
    assert is_free is (
        kind
        in (
            ErrorKind.RATE_LIMITED,
            ErrorKind.MODEL_UNAVAILABLE,
            ErrorKind.CONTEXT_LENGTH,
            ErrorKind.QUOTA_EXHAUSTED,
            ErrorKind.AUTH,
            ErrorKind.INVALID_REQUEST,
        )
    )


@pytest.mark.requirement("RUN-BUDGET-005")
def test_a_call_that_fails_mid_answer_is_charged() -> None:
    manual = ManualRun({"a": WORK})
    manual.reply("a", "", failure=Failure(ErrorKind.MODEL_UNAVAILABLE), model="small")

    usage, reserved = (manual.recorded.only(f"task.{end}").data for end in ("finished", "started"))
    assert usage["usage"]["input_tokens"] == reserved["reserved"]["input_tokens"]
    assert not usage["measured"]


@pytest.mark.requirement("RUN-RETRY-001")
@pytest.mark.parametrize(("own", "attempts"), [({}, 3), ({"retry": {"attempts": 2}}, 2)])
def test_the_tasks_retry_overrides_the_policys(own: dict[str, Any], attempts: int) -> None:
    recorded = run({"a": {**RUN, **own}}, [{"error": {"kind": "network"}}], policy={"retry": {"attempts": 3}})

    assert len(recorded.starts) == attempts
    assert recorded.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-RETRY-001")
def test_a_cancelled_attempt_is_not_counted() -> None:
    manual = ManualRun({"a": {**RUN, **TWICE}})
    manual.reply("a", "", failure=CANCELLED)
    manual.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    manual.pass_time(1_000)
    manual.reply("a", "done")

    assert [entry.data["attempt"] for entry in manual.recorded.of_kind("task.started")] == [1, 2, 3]
    assert manual.recorded.ends == {"a": "passed"}


def outcomes(task: dict[str, Any], *answers: str) -> list[str]:
    """Return the tier of each attempt and the end reason of a unit that gets these errors."""
    errors = [{"attempt": number, "error": {"kind": kind}} for number, kind in enumerate(answers, 1)]
    return [
        entry.data.get("tier", entry.data.get("reason", ""))
        for entry in run({"a": task}, [*errors, {"output": "x"}]).entries
        if entry.kind in ("task.started", "task.ended")
    ]


@pytest.mark.requirement("RUN-RETRY-003")
def test_a_prompt_that_was_answered_is_not_repeated_at_the_same_tier() -> None:
    task = {**WORK, "retry": {"attempts": 5, "backoff": "0s"}}

    # The first attempt has no feedback; the second and third would have the same prompt.
    assert outcomes(task, "malformed", "malformed") == ["cheap", "cheap", "repeated"]


@pytest.mark.requirement("RUN-RETRY-003")
def test_the_next_tier_may_get_the_same_prompt() -> None:
    task = {**WORK, **ESCALATING, "retry": {"attempts": 5, "backoff": "0s"}}

    assert outcomes(task, *["malformed"] * 9) == ["cheap", "cheap", "frontier", "repeated"]


@pytest.mark.requirement("RUN-RETRY-003")
def test_a_prompt_that_was_not_answered_is_repeated() -> None:
    task = {**WORK, "retry": {"attempts": 3, "backoff": "0s"}}

    assert outcomes(task, "network", "timeout") == ["cheap", "cheap", "cheap", ""]


@pytest.mark.requirement("RUN-RETRY-003")
def test_a_program_may_be_run_again() -> None:
    task = {**RUN, "retry": {"attempts": 3}}

    assert outcomes(task, "malformed", "malformed") == ["capable", "capable", "capable", ""]


@pytest.mark.requirement("RUN-CLIMB-001")
def test_a_rejected_result_escalates_before_it_is_retried() -> None:
    task = {**WORK, **ESCALATING, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}}

    recorded = run({"a": task}, [{**FAIL, "contains": "y"}, FAIL, {"attempt": 1, "output": "x"}, {"output": "y"}])

    assert [entry.data["tier"] for entry in recorded.of_kind("task.started")] == ["cheap", "frontier", "frontier"]
    assert recorded.only("escalation.raised").data == {"task": "a", "from": "cheap", "to": "frontier"}
    assert recorded.ends == {"a": "failed/verdict"}


@pytest.mark.requirement("RUN-CLIMB-001")
def test_each_tier_has_its_own_attempt_limit() -> None:
    task = {**WORK, **ESCALATING, **TWICE}
    answers = [
        {"attempt": 1, "error": {"kind": "network"}},
        {"attempt": 2, "error": {"kind": "malformed"}},
        {"attempt": 3, "error": {"kind": "network"}},
        {"output": "x"},
    ]

    recorded = run({"a": task}, answers)

    assert [entry.data["tier"] for entry in recorded.of_kind("task.started")] == [
        "cheap",
        "cheap",
        "frontier",
        "frontier",
    ]
    assert recorded.ends == {"a": "passed"}


@pytest.mark.requirement("RUN-CLIMB-001")
def test_an_error_at_the_last_tier_fails_the_unit() -> None:
    recorded = run({"a": {**WORK, **ESCALATING}}, [{"error": {"kind": "context_length"}}])

    assert recorded.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-LOST-001")
@pytest.mark.parametrize(
    ("task", "policy", "kinds"),
    [
        ({}, {}, ["task.started", "task.lost", "task.ended", "run.sealed"]),
        ({"idempotent": True}, {}, ["task.started", "task.lost", "task.started"]),
        ({}, {"on_lost": "retry"}, ["task.started", "task.lost", "task.started"]),
    ],
)
def test_a_lost_attempt_is_retried_only_if_allowed(
    task: dict[str, Any], policy: dict[str, Any], kinds: list[str]
) -> None:
    manual = ManualRun({"a": {**WORK, **task}}, policy=policy)
    manual.lose("a")

    assert manual.recorded.kinds == kinds


@pytest.mark.requirement("RUN-WALL-001")
@pytest.mark.parametrize("task", [{}, {"idempotent": True}, {"allow_failure": True}])
def test_an_attempt_lost_after_the_wall_time_ran_out_is_stopped(task: dict[str, Any]) -> None:
    manual = ManualRun({"a": {**WORK, **task}}, policy={"budget": {"wall": "5s"}})
    manual.pass_time(5_000)
    manual.lose("a")

    assert manual.recorded.ends == {"a": "stopped/budget"}
    assert manual.recorded.status == "stopped"


@pytest.mark.requirement("RUN-LOST-001")
def test_a_task_fails_after_four_lost_attempts() -> None:
    manual = ManualRun({"a": {**WORK, "idempotent": True}})
    for _ in range(4):
        manual.lose("a")

    assert len(manual.recorded.of_kind("task.lost")) == 4
    assert manual.recorded.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-LOST-001")
@pytest.mark.parametrize("is_check", [False, True])
def test_a_task_fails_after_four_cancelled_calls(is_check: bool) -> None:
    manual = ManualRun({"a": {**WORK, "accept": [{"agent": "critic"}]}})
    if is_check:
        manual.reply("a", "x")
    for _ in range(4):
        manual.reply("a", "", failure=CANCELLED)

    assert manual.recorded.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-LOST-001")
def test_a_task_fails_after_four_lost_checks() -> None:
    manual = ManualRun({"a": {**WORK, "accept": [{"agent": "critic"}]}})
    manual.reply("a", "x")
    for _ in range(4):
        manual.lose("a")

    assert manual.recorded.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-RETRY-001")
def test_a_lost_attempt_is_not_counted() -> None:
    manual = ManualRun({"a": {**RUN, **TWICE, "idempotent": True}})
    manual.lose("a")
    manual.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    manual.pass_time(1_000)
    manual.reply("a", "done")

    assert manual.recorded.ends == {"a": "passed"}
