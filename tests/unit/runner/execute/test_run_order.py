"""The order and the causes of entries, for one unit and for a run."""

from pathlib import Path
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure, Usage
from forum_adapters.registry import make_adapter
from forum_runner.app.runs import RunServices
from forum_runner.execute.engines import LocalEngine
from unit.runner.execute.small_runs import (
    FAIL,
    PASS,
    RUN,
    WORK,
    ManualRun,
    RecordedRun,
    outputs,
    plan_of,
    prepared_run,
    run,
    run_prepared,
)

ONE_AT_A_TIME = {"max_parallel": 1}
LIST = {**RUN, "output": {"type": "array"}}
EACH = {**WORK, "foreach": {"task": "list", "as": "item", "max": 3}}


@pytest.mark.requirement("RUN-ORDER-004")
def test_the_entries_of_a_unit_are_in_order() -> None:
    tasks = {
        "a": RUN,
        "b": RUN,
        "out": {
            "lane": "auto",
            "instruction": "Write.",
            "needs": ["b", {"task": "a", "max_bytes": 1}],
            "gate": {"question": "Go?", "deadline": "1s", "on_deadline": "approve"},
            "accept": [{"schema": True}, {"agent": "critic"}],
        },
    }

    recorded = run(tasks, [PASS, *outputs(a="one", b="two", out="x")])

    assert [entry.kind for entry in recorded.entries if entry.data.get("task") == "out"] == [
        "edge.delivered",
        "context.cut",
        "edge.delivered",
        "route.decided",
        "gate.opened",
        "gate.decided",
        "task.started",
        "task.finished",
        "verdict.given",
        "verdict.asked",
        "verdict.given",
        "task.ended",
    ]


@pytest.mark.requirement("RUN-ORDER-004")
def test_data_is_delivered_when_the_unit_can_start() -> None:
    tasks = {"a": RUN, "b": {**WORK, "needs": ["a"]}, "c": {**WORK, "needs": ["a"]}}

    recorded = run(tasks, outputs(a="one", b="x", c="y"), policy=ONE_AT_A_TIME)

    assert recorded.brief[:8] == [
        "task.started a",
        "task.finished a",
        "task.ended a",
        "edge.delivered b",
        "task.started b",
        "task.finished b",
        "task.ended b",
        "edge.delivered c",
    ]


@pytest.mark.requirement("RUN-ORDER-004")
def test_a_gate_opens_as_soon_as_its_task_is_ready() -> None:
    gate = {"question": "Go?", "deadline": "1h"}
    manual = ManualRun({"a": WORK, "b": {**WORK, "gate": gate}}, policy=ONE_AT_A_TIME)

    assert manual.recorded.brief == ["gate.opened b", "task.started a"]


@pytest.mark.requirement("RUN-ORDER-001")
def test_all_entries_of_one_event_have_its_time() -> None:
    tasks = {"a": RUN, "b": {**WORK, "needs": ["a"]}}

    recorded = run(tasks, [{"task": "a", "output": "one", "latency": "3s"}, {"task": "b", "output": "x"}])

    times = [(entry.at_ms, entry.kind) for entry in recorded.entries[:5]]
    assert times == [
        (0, "task.started"),
        (3_000, "task.finished"),
        (3_000, "task.ended"),
        (3_000, "edge.delivered"),
        (3_000, "task.started"),
    ]


@pytest.mark.requirement("RUN-ORDER-001", "LEDGER-KIND-002")
def test_task_started_is_written_before_the_call_is_made(tmp_path: Path) -> None:
    ledger = tmp_path / "run" / "ledger.jsonl"
    is_written: list[bool] = []

    class WatchingEngine(LocalEngine):
        def begin(self, attempt: Any) -> None:
            is_written.append('"kind":"task.started"' in ledger.read_text() and attempt.task in ledger.read_text())
            super().begin(attempt)

    plan = plan_of({"a": WORK, "b": {**WORK, "needs": ["a"]}})
    prepared = prepared_run(plan, tmp_path, outputs(a="one", b="x"))
    run_prepared(prepared, RunServices(make_engine=lambda: WatchingEngine(make_adapter)), out=tmp_path / "run")

    assert is_written == [True, True]


@pytest.mark.requirement("RUN-ORDER-002")
def test_entries_of_the_finished_unit_precede_the_next_start() -> None:
    manual = ManualRun({"a": {**WORK, "accept": [{"schema": True}]}, "b": WORK}, policy=ONE_AT_A_TIME)
    manual.reply("a", "x", usage=Usage(9_999, 0, 0))

    assert manual.recorded.brief[1:] == [
        "task.finished a",
        "budget.exceeded a",
        "verdict.given a",
        "task.ended a",
        "task.started b",
    ]


@pytest.mark.requirement("RUN-ORDER-002")
def test_due_timers_are_handled_before_new_events() -> None:
    retry = {"attempts": 2, "backoff": "1s", "max_backoff": "1s"}
    manual = ManualRun({"a": {**WORK, "retry": retry}, "b": WORK, "c": WORK}, policy={"max_parallel": 2})
    manual.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    manual.wait(1_000)
    manual.reply("b", "x")

    assert manual.recorded.brief[-3:] == ["task.finished b", "task.ended b", "task.started a"]


@pytest.mark.requirement("RUN-ORDER-003")
def test_started_units_take_precedence_over_unstarted_ones() -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}]}, "b": WORK, "c": WORK}
    manual = ManualRun(tasks, policy=ONE_AT_A_TIME)
    manual.reply("a", "x")

    assert manual.recorded.brief == ["task.started a", "task.finished a", "verdict.asked a"]


@pytest.mark.requirement("RUN-ORDER-003")
def test_units_start_in_plan_order_and_instances_by_number() -> None:
    tasks = {"list": LIST, "each": EACH, "z": WORK, "a": WORK}

    recorded = run(tasks, outputs(list=[1, 2, 3], each="x", z="x", a="x"), policy=ONE_AT_A_TIME)

    assert [name for _, name in recorded.starts] == ["a", "list", "z", "each[0]", "each[1]", "each[2]"]


def causes(recorded: RecordedRun) -> dict[str, list[str]]:
    return {brief: recorded.cause(entry) for brief, entry in zip(recorded.brief, recorded.entries, strict=True)}


@pytest.mark.requirement("RUN-ORDER-005")
def test_causes_of_a_unit_that_receives_data() -> None:
    tasks = {
        "a": RUN,
        "out": {
            **WORK,
            "needs": [{"task": "a", "max_bytes": 1}],
            "gate": {"question": "Go?", "deadline": "1s", "on_deadline": "approve"},
            "accept": [{"schema": True}, {"agent": "critic"}],
        },
    }

    recorded = run(tasks, [PASS, *outputs(a="one", out="x")], outputs={"o": "out"})

    by_entry = causes(recorded)
    assert by_entry | {"verdict.given out": []} == {
        "task.started a": [],
        "task.finished a": ["task.started a"],
        "task.ended a": ["task.finished a"],
        "edge.delivered out": ["task.ended a"],
        "context.cut out": ["edge.delivered out"],
        "gate.opened out": ["task.ended a", "edge.delivered out"],
        "run.paused": [],
        "gate.decided out": ["gate.opened out"],
        "run.resumed": [],
        "task.started out": ["edge.delivered out", "gate.decided out"],
        "task.finished out": ["task.started out"],
        "verdict.given out": [],
        "verdict.asked out": ["task.finished out"],
        "task.ended out": ["task.finished out"],
        "answer.given": ["task.ended out"],
        "run.sealed": [],
    }
    by_schema, by_judge = recorded.of_kind("verdict.given")
    assert (recorded.cause(by_schema), recorded.cause(by_judge)) == (["task.finished out"], ["verdict.asked out"])


@pytest.mark.requirement("RUN-ORDER-005")
def test_causes_of_later_attempts_and_tiers() -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}], "escalate": ["frontier"], "budget": {"calls": 3}}}

    recorded = run(tasks, [FAIL, *outputs(a="x")])

    first, second = recorded.of_kind("task.finished")
    assert [(entry.kind, entry.causes) for entry in recorded.entries[4:]] == [
        ("escalation.raised", [recorded.seq(first)]),
        ("task.started", [recorded.seq(first)]),
        ("task.finished", [6]),
        ("budget.stopped", [recorded.seq(second)]),
        ("task.ended", [recorded.seq(second)]),
        ("run.sealed", []),
    ]


@pytest.mark.requirement("RUN-ORDER-005")
def test_causes_of_waves_orders_and_expansions() -> None:
    tasks = {"list": LIST, "each": EACH, "last": {**WORK, "needs": [{"task": "each", "edge": "order"}]}}

    recorded = run(tasks, outputs(list=[1], each="x", last="x"), policy={"dispatch": "waves"})

    waves = [recorded.cause(entry) for entry in recorded.of_kind("wave.opened")]
    assert waves == [[], ["task.ended list"], ["task.ended each"]]
    by_entry = causes(recorded)
    assert {name: by_entry[name] for name in ("task.expanded each", "edge.delivered each[0]", "task.ended each")} == {
        "task.expanded each": ["task.ended list"],
        "edge.delivered each[0]": ["task.expanded each"],
        "task.ended each": ["task.ended each[0]"],
    }
    assert by_entry["task.started last"] == ["task.ended each"]


@pytest.mark.requirement("RUN-ORDER-005")
def test_causes_of_tasks_that_did_not_start() -> None:
    no = {"task": "a", "output": {"const": "no"}}
    tasks = {
        "a": RUN,
        "b": {**WORK, "needs": ["a"], "when": no},
        "c": {**WORK, "needs": ["a"], "gate": {"question": "Go?", "deadline": "1s"}},
        "none": {**EACH, "foreach": {"task": "list", "as": "item", "max": 1}},
        "list": LIST,
    }

    recorded = run(tasks, outputs(a="one", list=[]))

    by_entry = causes(recorded)
    assert by_entry["task.ended b"] == ["task.ended a"]
    assert by_entry["task.ended c"] == ["task.ended a", "gate.decided c"]
    assert by_entry["task.ended none"] == ["task.expanded none"]


@pytest.mark.requirement("RUN-ORDER-005")
def test_the_cause_of_each_exceeded_budget_is_the_end_of_the_call() -> None:
    manual = ManualRun({"a": WORK})
    manual.reply("a", "x", usage=Usage(9_999, 0, 9_999))

    finished = manual.recorded.only("task.finished")
    assert [entry.causes for entry in manual.recorded.of_kind("budget.exceeded")] == [
        [manual.recorded.seq(finished)]
    ] * 2


@pytest.mark.requirement("RUN-ORDER-005")
def test_the_actor_is_the_agent_or_for_commands_the_runner() -> None:
    tasks = {"a": {**WORK, "accept": [{"command": ["check"]}, {"agent": "critic"}]}}

    recorded = run(tasks, [PASS, {"check": "command", "output": ""}, *outputs(a="x")])

    assert [(entry.kind, entry.actor) for entry in recorded.entries] == [
        ("task.started", "runner"),
        ("task.finished", "agent:writer"),
        ("verdict.asked", "runner"),
        ("verdict.given", "runner"),
        ("verdict.asked", "runner"),
        ("verdict.given", "agent:critic"),
        ("task.ended", "runner"),
        ("run.sealed", "runner"),
    ]
