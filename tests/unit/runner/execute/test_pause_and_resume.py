"""Pausing and resuming a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.errors import ForumError
from forum_runner.execute.machine import Outcome
from forum_runner.execute.resume import describe_resume
from unit.runner.execute.small_runs import (
    RUN,
    WORK,
    ManualRun,
    outputs,
    plan_of,
    prepared_run,
    resume_prepared,
    run,
    run_in,
)

CANCELLED = Failure(ErrorKind.CANCELLED, "the call was cancelled")
TASKS = {"a": {**WORK, "idempotent": True}, "b": WORK, "c": {**WORK, "needs": ["a"]}}


@pytest.mark.requirement("RUN-PAUSE-001")
def test_an_interrupted_run_waits_for_its_calls_and_pauses() -> None:
    manual = ManualRun(TASKS)
    calls = [attempt.id for attempt in manual.open.values()]
    manual.interrupt()
    assert manual.cancelled == calls
    manual.reply("b", "done")
    assert manual.outcome is None
    manual.reply("a", "", failure=CANCELLED)

    assert manual.recorded.brief == [
        "task.started a",
        "task.started b",
        "task.finished b",
        "task.finished a",
        "run.paused",
    ]
    assert manual.recorded.only("run.paused").data == {"reason": "interrupted"}
    assert manual.outcome == Outcome("paused", "interrupted")


@pytest.mark.requirement("RUN-PAUSE-001", "RUN-RESUME-002")
def test_an_interrupted_run_resumes_where_it_paused() -> None:
    first = ManualRun(TASKS)
    first.interrupt()
    first.reply("b", "done")
    first.reply("a", "", failure=CANCELLED)

    resumed = ManualRun(TASKS, resumed_from=first.recorded)

    assert resumed.recorded.brief == ["run.resumed", "task.ended b", "task.started a"]
    assert resumed.recorded.only("task.started").data["attempt"] == 2


@pytest.mark.requirement("RUN-RESUME-002", "RUN-LOST-001")
def test_open_calls_of_a_killed_run_are_lost_and_idempotent_tasks_are_retried() -> None:
    first = ManualRun(TASKS)

    resumed = ManualRun(TASKS, resumed_from=first.recorded)

    assert resumed.recorded.brief[:4] == ["run.resumed", "task.lost a", "task.lost b", "task.ended b"]
    assert resumed.recorded.ends == {"b": "failed/error", "c": "skipped/failure"}
    assert resumed.recorded.brief[4:] == ["task.started a", "task.ended c"]


@pytest.mark.requirement("RUN-RESUME-001")
def test_attempts_and_budgets_are_restored() -> None:
    tasks = {"a": {**RUN, "retry": {"attempts": 2, "backoff": "1s"}, "budget": {"calls": 2}}}
    first = ManualRun(tasks)
    first.reply("a", "", failure=Failure(ErrorKind.NETWORK))

    resumed = ManualRun(tasks, resumed_from=first.recorded)

    assert resumed.open == {}
    resumed.pass_time(1_000)
    assert resumed.recorded.only("task.started").data["attempt"] == 2
    resumed.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    assert resumed.recorded.ends == {"a": "failed/error"}


@pytest.mark.requirement("RUN-RESUME-001")
def test_a_resumed_check_gets_the_recorded_output() -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}]}}
    first = ManualRun(tasks)
    first.reply("a", "one")

    resumed = ManualRun(tasks, resumed_from=first.recorded)

    assert resumed.recorded.brief == ["run.resumed", "verdict.lost a", "verdict.asked a"]
    assert "\none\n</data " in resumed.open["a"].prompt.text


@pytest.mark.requirement("RUN-RESUME-001")
def test_a_check_without_a_verdict_is_repeated() -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}]}}
    first = ManualRun(tasks)
    first.reply("a", "one")
    first.reply("a", "", failure=Failure(ErrorKind.AUTH))
    truncated = replace(first.recorded, entries=first.recorded.entries[:4], stored=first.recorded.stored[:4])
    assert truncated.kinds[-1] == "verdict.given"

    assert ManualRun(tasks, resumed_from=truncated).recorded.brief == ["run.resumed", "verdict.asked a"]


@pytest.mark.requirement("RUN-RESUME-001")
def test_delivered_values_are_not_delivered_again() -> None:
    tasks = {"a": RUN, "b": {**WORK, "needs": ["a"], "idempotent": True}}
    first = ManualRun(tasks)
    first.reply("a", "one")

    resumed = ManualRun(tasks, resumed_from=first.recorded)

    assert resumed.recorded.brief == ["run.resumed", "task.lost b", "task.started b"]
    assert "\none\n</data " in resumed.open["b"].prompt.text


@pytest.mark.requirement("RUN-RESUME-002")
def test_gates_whose_deadline_has_passed_are_decided_first() -> None:
    tasks = {"a": {**WORK, "gate": {"question": "Go?", "deadline": "1s", "on_deadline": "approve"}}, "b": WORK}

    recorded = run(tasks, [{"output": "x"}])

    start = recorded.kinds.index("run.paused")
    assert recorded.brief[start : start + 4] == ["run.paused", "run.resumed", "gate.decided a", "task.started a"]


@pytest.mark.requirement("RUN-RESUME-003")
@pytest.mark.parametrize(("later_us", "is_waiting"), [(999_999, True), (1_000_000, False)])
def test_a_run_at_an_open_gate_waits_until_its_deadline(later_us: int, is_waiting: bool) -> None:
    manual = ManualRun({"a": {**WORK, "gate": {"question": "Go?", "deadline": "1s"}}})

    assert manual.machine.is_waiting(manual.now_us + later_us) is is_waiting


@pytest.mark.parametrize(("on_deadline", "decision"), [("approve", "approved"), ("reject", "rejected")])
def test_the_resume_summary_shows_decisions_by_passed_deadlines(on_deadline: str, decision: str) -> None:
    gate = {"question": "Go?", "deadline": "1s", "on_deadline": on_deadline}
    manual = ManualRun({"a": {**WORK, "gate": gate}, "b": {**WORK, "gate": {"question": "Go?"}}})

    summaries = [
        list(describe_resume(manual.machine.state, manual.now_us + later_us)) for later_us in (999_999, 1_000_000)
    ]

    assert summaries == [
        ["a: waiting for a decision", "b: waiting for a decision"],
        [f"a: {decision}: the deadline passed without a decision", "b: waiting for a decision"],
    ]


def prepared(directory: Path, tasks: dict[str, Any]) -> PreparedRun:
    plan = plan_of(tasks)
    return prepared_run(plan, directory, [{"output": "x"}])


@pytest.mark.requirement("RUN-RESUME-001")
def test_a_sealed_run_cannot_be_resumed(tmp_path: Path) -> None:
    run_in(tmp_path / "run", {"a": WORK}, outputs(a="x"))

    with pytest.raises(ForumError, match="has finished"):
        resume_prepared(tmp_path / "run", prepared(tmp_path, {"a": WORK}))


@pytest.mark.requirement("RUN-RESUME-001")
def test_an_invalid_ledger_cannot_be_resumed(tmp_path: Path) -> None:
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
def test_the_resume_summary_shows_calls_lost_during_a_pause(own: dict[str, Any], line: str) -> None:
    manual = ManualRun({"a": {**WORK, **own}})
    manual.interrupt()
    manual.lose("a")

    assert list(describe_resume(manual.machine.state, manual.now_us)) == [line]
