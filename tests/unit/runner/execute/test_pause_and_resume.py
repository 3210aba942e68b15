"""Stopping where a run can go on, and going on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.canonical import canonical
from forum_runner.errors import ForumError
from forum_runner.execute.machine import Outcome
from forum_runner.execute.resume import describe_resume
from unit.runner.execute.small_runs import RUN, WORK, ByHand, outputs, plan_of, resume_prepared, run, run_in

CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")
TASKS = {"a": {**WORK, "idempotent": True}, "b": WORK, "c": {**WORK, "needs": ["a"]}}


@pytest.mark.requirement("RUN-PAUSE-001")
def test_an_interrupted_run_waits_for_its_calls_and_pauses() -> None:
    hand = ByHand(TASKS)
    calls = [attempt.id for attempt in hand.open.values()]
    hand.interrupt()
    assert hand.cancelled == calls
    hand.reply("b", "done")
    assert hand.outcome is None
    hand.reply("a", "", failure=CANCELLED)

    assert hand.story.brief == [
        "task.started a",
        "task.started b",
        "task.finished b",
        "task.finished a",
        "run.paused",
    ]
    assert hand.story.one("run.paused").data == {"reason": "interrupted"}
    assert hand.outcome == Outcome("paused", "interrupted")


@pytest.mark.requirement("RUN-PAUSE-001", "RUN-RESUME-002")
def test_a_run_that_was_interrupted_goes_on_where_it_was() -> None:
    first = ByHand(TASKS)
    first.interrupt()
    first.reply("b", "done")
    first.reply("a", "", failure=CANCELLED)

    again = ByHand(TASKS, told=first.story)

    assert again.story.brief == ["run.resumed", "task.ended b", "task.started a"]
    assert again.story.one("task.started").data["attempt"] == 2


@pytest.mark.requirement("RUN-RESUME-002", "RUN-LOST-001")
def test_calls_that_were_open_are_lost_and_what_may_be_tried_again_is() -> None:
    first = ByHand(TASKS)

    again = ByHand(TASKS, told=first.story)

    assert again.story.brief[:4] == ["run.resumed", "task.lost a", "task.lost b", "task.ended b"]
    assert again.story.ends == {"b": "failed/error", "c": "skipped/failure"}
    assert again.story.brief[4:] == ["task.started a", "task.ended c"]


@pytest.mark.requirement("RUN-RESUME-001")
def test_attempts_and_budgets_are_where_they_were_left() -> None:
    tasks = {"a": {**RUN, "retry": {"attempts": 2, "backoff": "1s"}, "budget": {"calls": 2}}}
    first = ByHand(tasks)
    first.reply("a", "", failure=Failure(ErrorKind.NETWORK))

    again = ByHand(tasks, told=first.story)

    assert again.open == {}
    again.pass_time(1_000)
    assert again.story.one("task.started").data["attempt"] == 2
    again.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    assert again.story.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-RESUME-001")
def test_a_check_goes_on_with_the_output_that_it_looks_at() -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}]}}
    first = ByHand(tasks)
    first.reply("a", "one")

    again = ByHand(tasks, told=first.story)

    assert again.story.brief == ["run.resumed", "verdict.lost a", "verdict.asked a"]
    assert "\none\n</data " in again.open["a"].prompt.text


@pytest.mark.requirement("RUN-RESUME-001")
def test_a_check_that_gave_no_verdict_is_asked_again() -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}]}}
    first = ByHand(tasks)
    first.reply("a", "one")
    first.reply("a", "", failure=Failure(ErrorKind.AUTH))
    told = replace(first.story, entries=first.story.entries[:4], stored=first.story.stored[:4])
    assert told.kinds[-1] == "verdict.given"

    assert ByHand(tasks, told=told).story.brief == ["run.resumed", "verdict.asked a"]


@pytest.mark.requirement("RUN-RESUME-001")
def test_what_was_handed_over_is_not_handed_over_again() -> None:
    tasks = {"a": RUN, "b": {**WORK, "needs": ["a"], "idempotent": True}}
    first = ByHand(tasks)
    first.reply("a", "one")

    again = ByHand(tasks, told=first.story)

    assert again.story.brief == ["run.resumed", "task.lost b", "task.started b"]
    assert "\none\n</data " in again.open["b"].prompt.text


@pytest.mark.requirement("RUN-RESUME-002")
def test_gates_whose_deadline_has_passed_are_decided_first() -> None:
    tasks = {"a": {**WORK, "gate": {"question": "Go?", "deadline": "1s", "on_deadline": "approve"}}, "b": WORK}

    story = run(tasks, [{"output": "x"}])

    at = story.kinds.index("run.paused")
    assert story.brief[at : at + 4] == ["run.paused", "run.resumed", "gate.decided a", "task.started a"]


@pytest.mark.requirement("RUN-RESUME-003")
@pytest.mark.parametrize(("later_us", "is_waiting"), [(999_999, True), (1_000_000, False)])
def test_a_run_at_an_open_gate_is_left_as_it_is(later_us: int, is_waiting: bool) -> None:
    hand = ByHand({"a": {**WORK, "gate": {"question": "Go?", "deadline": "1s"}}})

    assert hand.machine.is_waiting(hand.now_us + later_us) is is_waiting


@pytest.mark.parametrize(("on_deadline", "decision"), [("approve", "approved"), ("reject", "rejected")])
def test_it_is_told_what_a_deadline_decides_that_has_passed(on_deadline: str, decision: str) -> None:
    gate = {"question": "Go?", "deadline": "1s", "on_deadline": on_deadline}
    hand = ByHand({"a": {**WORK, "gate": gate}, "b": {**WORK, "gate": {"question": "Go?"}}})

    told = [list(describe_resume(hand.machine.state, hand.now_us + later_us)) for later_us in (999_999, 1_000_000)]

    assert told == [
        ["a: waiting for a decision", "b: waiting for a decision"],
        [f"a: {decision}: the deadline passed without a decision", "b: waiting for a decision"],
    ]


def prepared(directory: Path, tasks: dict[str, Any]) -> PreparedRun:
    plan = plan_of(tasks)
    return PreparedRun(plan, canonical(plan), directory, "workflow.yaml", [{"output": "x"}])


@pytest.mark.requirement("RUN-RESUME-001")
def test_a_sealed_run_is_not_gone_on_with(tmp_path: Path) -> None:
    run_in(tmp_path / "run", {"a": WORK}, outputs(a="x"))

    with pytest.raises(ForumError, match="has finished"):
        resume_prepared(tmp_path / "run", prepared(tmp_path, {"a": WORK}))


@pytest.mark.requirement("RUN-RESUME-001")
def test_a_ledger_that_does_not_hold_is_not_gone_on_with(tmp_path: Path) -> None:
    tasks = {"a": {**WORK, "gate": {"question": "Go?"}}}
    run_in(tmp_path / "run", tasks, [])
    ledger = tmp_path / "run" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"kind":"run.paused"', b'"kind":"run.pausee"'))

    with pytest.raises(ForumError):
        resume_prepared(tmp_path / "run", prepared(tmp_path, tasks))


@pytest.mark.parametrize(
    ("own", "line"),
    [
        ({}, "a: attempt 1 was lost; not retried, because the task is not idempotent"),
        ({"idempotent": True}, "a: retrying attempt 1, which was lost"),
    ],
)
def test_a_call_that_was_lost_while_the_run_paused_is_in_the_summary(own: dict[str, Any], line: str) -> None:
    hand = ByHand({"a": {**WORK, **own}})
    hand.interrupt()
    hand.lose("a")

    assert list(describe_resume(hand.machine.state, hand.now_us)) == [line]
