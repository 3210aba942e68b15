"""Which errors are tried again, which climb, and when the same is not asked twice."""

from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from unit.runner.execute.small_runs import FAIL, RUN, WORK, ByHand, run

TWICE = {"retry": {"attempts": 2, "backoff": "1s"}}
CLIMBING = {"escalate": ["frontier"]}
CANCELLED = Failure(ErrorKind.CANCELLED)


def after(kind: str, **task: Any) -> str:
    """What follows an attempt that ended in this error."""
    hand = ByHand({"a": {**WORK, **task}})
    hand.reply("a", "", failure=Failure(ErrorKind(kind), "said"))
    if hand.outcome is None and not hand.open:
        return "waits"
    last = hand.story.entries[-1]
    return last.data["tier"] if last.kind == "task.started" else hand.story.ends["a"]


@pytest.mark.requirement("RUN-ERROR-001")
@pytest.mark.parametrize(
    ("kinds", "retried", "climbed"),
    [
        ("timeout network tool_failure exit_status rate_limited model_unavailable", "waits", "failed/error"),
        ("malformed schema_mismatch", "cheap", "frontier"),
        ("context_length", "failed/error", "frontier"),
        ("quota_exhausted auth invalid_request content_filter output_limit internal", "failed/error", "failed/error"),
        ("cancelled", "cheap", "cheap"),
    ],
)
def test_every_kind_is_tried_again_or_climbs_as_the_table_says(kinds: str, retried: str, climbed: str) -> None:
    found = {kind: (after(kind, **TWICE), after(kind, **CLIMBING)) for kind in kinds.split()}

    assert found == dict.fromkeys(kinds.split(), (retried, climbed))


@pytest.mark.requirement("RUN-ERROR-001")
def test_the_table_is_complete() -> None:
    assert {kind.value for kind in ErrorKind} == set(
        "timeout network tool_failure exit_status rate_limited model_unavailable malformed schema_mismatch "
        "context_length quota_exhausted auth invalid_request content_filter output_limit internal cancelled".split()
    )


@pytest.mark.requirement("RUN-ERROR-001", "RUN-BUDGET-005")
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_a_server_that_refused_is_not_paid(kind: ErrorKind) -> None:
    hand = ByHand({"a": WORK})
    hand.reply("a", "", failure=Failure(kind))

    is_free = hand.story.one("task.finished").data["usage"]["input_tokens"] == 0
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
def test_a_server_that_had_begun_to_answer_is_paid() -> None:
    hand = ByHand({"a": WORK})
    hand.reply("a", "", failure=Failure(ErrorKind.MODEL_UNAVAILABLE), model="small")

    usage, reserved = (hand.story.one(f"task.{end}").data for end in ("finished", "started"))
    assert usage["usage"]["input_tokens"] == reserved["reserved"]["input_tokens"]
    assert not usage["measured"]


@pytest.mark.requirement("RUN-RETRY-001")
@pytest.mark.parametrize(("own", "attempts"), [({}, 3), ({"retry": {"attempts": 2}}, 2)])
def test_attempts_are_the_tasks_or_else_the_policys(own: dict[str, Any], attempts: int) -> None:
    story = run({"a": {**RUN, **own}}, [{"error": {"kind": "network"}}], policy={"retry": {"attempts": 3}})

    assert len(story.starts) == attempts
    assert story.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-RETRY-001")
def test_a_cancelled_attempt_is_not_counted() -> None:
    hand = ByHand({"a": {**RUN, **TWICE}})
    hand.reply("a", "", failure=CANCELLED)
    hand.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    hand.pass_time(1_000)
    hand.reply("a", "done")

    assert [entry.data["attempt"] for entry in hand.story.of("task.started")] == [1, 2, 3]
    assert hand.story.ends == {"a": "passed"}


def same(task: dict[str, Any], *answers: str) -> list[str]:
    """How a unit goes on that is malformed each time, with the same words."""
    errors = [{"attempt": number, "error": {"kind": kind}} for number, kind in enumerate(answers, 1)]
    return [
        entry.data.get("tier", entry.data.get("reason", ""))
        for entry in run({"a": task}, [*errors, {"output": "x"}]).entries
        if entry.kind in ("task.started", "task.ended")
    ]


@pytest.mark.requirement("RUN-RETRY-003")
def test_a_prompt_that_was_answered_at_this_step_is_not_given_again() -> None:
    task = {**WORK, "retry": {"attempts": 5, "backoff": "0s"}}

    # The first has no feedback; the second and the third would have the same.
    assert same(task, "malformed", "malformed") == ["cheap", "cheap", "repeated"]


@pytest.mark.requirement("RUN-RETRY-003")
def test_the_next_step_may_be_asked_the_same() -> None:
    task = {**WORK, **CLIMBING, "retry": {"attempts": 5, "backoff": "0s"}}

    assert same(task, *["malformed"] * 9) == ["cheap", "cheap", "frontier", "repeated"]


@pytest.mark.requirement("RUN-RETRY-003")
def test_a_prompt_that_was_not_answered_is_given_again() -> None:
    task = {**WORK, "retry": {"attempts": 3, "backoff": "0s"}}

    assert same(task, "network", "timeout") == ["cheap", "cheap", "cheap", ""]


@pytest.mark.requirement("RUN-RETRY-003")
def test_a_program_may_be_run_again() -> None:
    task = {**RUN, "retry": {"attempts": 3}}

    assert same(task, "malformed", "malformed") == ["capable", "capable", "capable", ""]


@pytest.mark.requirement("RUN-CLIMB-001")
def test_a_result_that_failed_climbs_before_it_is_tried_again() -> None:
    task = {**WORK, **CLIMBING, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}}

    story = run({"a": task}, [{**FAIL, "contains": "y"}, FAIL, {"attempt": 1, "output": "x"}, {"output": "y"}])

    assert [entry.data["tier"] for entry in story.of("task.started")] == ["cheap", "frontier", "frontier"]
    assert story.one("escalation.raised").data == {"task": "a", "from": "cheap", "to": "frontier"}
    assert story.ends == {"a": "failed/verdict"}


@pytest.mark.requirement("RUN-CLIMB-001")
def test_attempts_are_counted_anew_at_each_step() -> None:
    task = {**WORK, **CLIMBING, **TWICE}
    answers = [
        {"attempt": 1, "error": {"kind": "network"}},
        {"attempt": 2, "error": {"kind": "malformed"}},
        {"attempt": 3, "error": {"kind": "network"}},
        {"output": "x"},
    ]

    story = run({"a": task}, answers)

    assert [entry.data["tier"] for entry in story.of("task.started")] == ["cheap", "cheap", "frontier", "frontier"]
    assert story.ends == {"a": "passed"}


@pytest.mark.requirement("RUN-CLIMB-001")
def test_after_the_last_step_an_error_fails_the_unit() -> None:
    story = run({"a": {**WORK, **CLIMBING}}, [{"error": {"kind": "context_length"}}])

    assert story.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-LOST-001")
@pytest.mark.parametrize(
    ("task", "policy", "kinds"),
    [
        ({}, {}, ["task.started", "task.lost", "task.ended", "run.sealed"]),
        ({"idempotent": True}, {}, ["task.started", "task.lost", "task.started"]),
        ({}, {"on_lost": "retry"}, ["task.started", "task.lost", "task.started"]),
    ],
)
def test_a_lost_attempt_is_made_again_only_where_that_is_allowed(
    task: dict[str, Any], policy: dict[str, Any], kinds: list[str]
) -> None:
    hand = ByHand({"a": {**WORK, **task}}, policy=policy)
    hand.lose("a")

    assert hand.story.kinds == kinds


@pytest.mark.requirement("RUN-WALL-001")
@pytest.mark.parametrize("task", [{}, {"idempotent": True}, {"allow_failure": True}])
def test_an_attempt_that_is_lost_when_the_time_is_over_was_stopped(task: dict[str, Any]) -> None:
    hand = ByHand({"a": {**WORK, **task}}, policy={"budget": {"wall": "5s"}})
    hand.pass_time(5_000)
    hand.lose("a")

    assert hand.story.ends == {"a": "stopped/budget"}
    assert hand.story.status == "stopped"


@pytest.mark.requirement("RUN-LOST-001")
def test_what_is_lost_four_times_is_given_up() -> None:
    hand = ByHand({"a": {**WORK, "idempotent": True}})
    for _ in range(4):
        hand.lose("a")

    assert len(hand.story.of("task.lost")) == 4
    assert hand.story.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-LOST-001")
@pytest.mark.parametrize("is_check", [False, True])
def test_what_is_cancelled_four_times_is_given_up(is_check: bool) -> None:
    hand = ByHand({"a": {**WORK, "accept": [{"agent": "critic"}]}})
    if is_check:
        hand.reply("a", "x")
    for _ in range(4):
        hand.reply("a", "", failure=CANCELLED)

    assert hand.story.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-LOST-001")
def test_a_check_that_is_lost_four_times_is_given_up() -> None:
    hand = ByHand({"a": {**WORK, "accept": [{"agent": "critic"}]}})
    hand.reply("a", "x")
    for _ in range(4):
        hand.lose("a")

    assert hand.story.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-RETRY-001")
def test_a_lost_attempt_is_not_counted() -> None:
    hand = ByHand({"a": {**RUN, **TWICE, "idempotent": True}})
    hand.lose("a")
    hand.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    hand.pass_time(1_000)
    hand.reply("a", "done")

    assert hand.story.ends == {"a": "passed"}
