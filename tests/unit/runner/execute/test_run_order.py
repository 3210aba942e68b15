"""What is written when, for one unit and for a run, and what follows from what."""

from pathlib import Path
from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure, Usage
from forum_adapters.registry import make_adapter
from forum_runner.app.run_preparation import PreparedRun
from forum_runner.app.runs import RunServices
from forum_runner.canonical import canonical
from forum_runner.execute.engines.local import LocalEngine
from unit.runner.execute.small_runs import FAIL, PASS, RUN, WORK, ByHand, Story, outputs, plan_of, run, run_prepared

ONE_AT_A_TIME = {"max_parallel": 1}
LIST = {**RUN, "output": {"type": "array"}}
EACH = {**WORK, "foreach": {"task": "list", "as": "item", "max": 3}}


@pytest.mark.requirement("RUN-ORDER-004")
def test_a_unit_tells_its_story_in_order() -> None:
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

    story = run(tasks, [PASS, *outputs(a="one", b="two", out="x")])

    assert [entry.kind for entry in story.entries if entry.data.get("task") == "out"] == [
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
def test_data_is_handed_over_when_there_is_room_for_the_unit() -> None:
    tasks = {"a": RUN, "b": {**WORK, "needs": ["a"]}, "c": {**WORK, "needs": ["a"]}}

    story = run(tasks, outputs(a="one", b="x", c="y"), policy=ONE_AT_A_TIME)

    assert story.brief[:8] == [
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
def test_a_person_is_asked_as_soon_as_a_task_arrives() -> None:
    gate = {"question": "Go?", "deadline": "1h"}
    hand = ByHand({"a": WORK, "b": {**WORK, "gate": gate}}, policy=ONE_AT_A_TIME)

    assert hand.story.brief == ["gate.opened b", "task.started a"]


@pytest.mark.requirement("RUN-ORDER-001")
def test_all_that_an_event_leads_to_has_its_time() -> None:
    tasks = {"a": RUN, "b": {**WORK, "needs": ["a"]}}

    story = run(tasks, [{"task": "a", "output": "one", "latency": "3s"}, {"task": "b", "output": "x"}])

    times = [(entry.at_ms, entry.kind) for entry in story.entries[:5]]
    assert times == [
        (0, "task.started"),
        (3_000, "task.finished"),
        (3_000, "task.ended"),
        (3_000, "edge.delivered"),
        (3_000, "task.started"),
    ]


@pytest.mark.requirement("RUN-ORDER-001", "LEDGER-KIND-002")
def test_the_intent_of_a_call_is_written_before_it_is_made(tmp_path: Path) -> None:
    ledger = tmp_path / "run" / "ledger.jsonl"
    seen: list[bool] = []

    class Watching(LocalEngine):
        def begin(self, attempt: Any) -> None:
            seen.append('"kind":"task.started"' in ledger.read_text() and attempt.task in ledger.read_text())
            super().begin(attempt)

    plan = plan_of({"a": WORK, "b": {**WORK, "needs": ["a"]}})
    prepared = PreparedRun(plan, canonical(plan), tmp_path, "workflow.yaml", outputs(a="one", b="x"))
    run_prepared(prepared, RunServices(make_engine=lambda: Watching(make_adapter)), out=tmp_path / "run")

    assert seen == [True, True]


@pytest.mark.requirement("RUN-ORDER-002")
def test_what_follows_for_the_unit_comes_before_what_others_begin() -> None:
    hand = ByHand({"a": {**WORK, "accept": [{"schema": True}]}, "b": WORK}, policy=ONE_AT_A_TIME)
    hand.reply("a", "x", usage=Usage(9_999, 0, 0))

    assert hand.story.brief[1:] == [
        "task.finished a",
        "budget.exceeded a",
        "verdict.given a",
        "task.ended a",
        "task.started b",
    ]


@pytest.mark.requirement("RUN-ORDER-002")
def test_what_was_due_goes_before_what_happened() -> None:
    retry = {"attempts": 2, "backoff": "1s", "max_backoff": "1s"}
    hand = ByHand({"a": {**WORK, "retry": retry}, "b": WORK, "c": WORK}, policy={"max_parallel": 2})
    hand.reply("a", "", failure=Failure(ErrorKind.NETWORK))
    hand.wait(1_000)
    hand.reply("b", "x")

    assert hand.story.brief[-3:] == ["task.finished b", "task.ended b", "task.started a"]


@pytest.mark.requirement("RUN-ORDER-003")
def test_units_that_have_begun_go_before_those_that_have_not() -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}]}, "b": WORK, "c": WORK}
    hand = ByHand(tasks, policy=ONE_AT_A_TIME)
    hand.reply("a", "x")

    assert hand.story.brief == ["task.started a", "task.finished a", "verdict.asked a"]


@pytest.mark.requirement("RUN-ORDER-003")
def test_units_begin_in_plan_order_and_instances_by_number() -> None:
    tasks = {"list": LIST, "each": EACH, "z": WORK, "a": WORK}

    story = run(tasks, outputs(list=[1, 2, 3], each="x", z="x", a="x"), policy=ONE_AT_A_TIME)

    assert [name for _, name in story.starts] == ["a", "list", "z", "each[0]", "each[1]", "each[2]"]


def causes(story: Story) -> dict[str, list[str]]:
    return {brief: story.cause(entry) for brief, entry in zip(story.brief, story.entries, strict=True)}


@pytest.mark.requirement("RUN-ORDER-005")
def test_causes_of_a_unit_that_is_given_data() -> None:
    tasks = {
        "a": RUN,
        "out": {
            **WORK,
            "needs": [{"task": "a", "max_bytes": 1}],
            "gate": {"question": "Go?", "deadline": "1s", "on_deadline": "approve"},
            "accept": [{"schema": True}, {"agent": "critic"}],
        },
    }

    story = run(tasks, [PASS, *outputs(a="one", out="x")], outputs={"o": "out"})

    found = causes(story)
    assert found | {"verdict.given out": []} == {
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
    by_schema, by_judge = story.of("verdict.given")
    assert (story.cause(by_schema), story.cause(by_judge)) == (["task.finished out"], ["verdict.asked out"])


@pytest.mark.requirement("RUN-ORDER-005")
def test_causes_of_later_attempts_and_tiers() -> None:
    tasks = {"a": {**WORK, "accept": [{"agent": "critic"}], "escalate": ["frontier"], "budget": {"calls": 3}}}

    story = run(tasks, [FAIL, *outputs(a="x")])

    first, second = story.of("task.finished")
    assert [(entry.kind, entry.causes) for entry in story.entries[4:]] == [
        ("escalation.raised", [story.seq(first)]),
        ("task.started", [story.seq(first)]),
        ("task.finished", [6]),
        ("budget.stopped", [story.seq(second)]),
        ("task.ended", [story.seq(second)]),
        ("run.sealed", []),
    ]


@pytest.mark.requirement("RUN-ORDER-005")
def test_causes_of_waves_orders_and_expansions() -> None:
    tasks = {"list": LIST, "each": EACH, "last": {**WORK, "needs": [{"task": "each", "edge": "order"}]}}

    story = run(tasks, outputs(list=[1], each="x", last="x"), policy={"dispatch": "waves"})

    waves = [story.cause(entry) for entry in story.of("wave.opened")]
    assert waves == [[], ["task.ended list"], ["task.ended each"]]
    found = causes(story)
    assert {name: found[name] for name in ("task.expanded each", "edge.delivered each[0]", "task.ended each")} == {
        "task.expanded each": ["task.ended list"],
        "edge.delivered each[0]": ["task.expanded each"],
        "task.ended each": ["task.ended each[0]"],
    }
    assert found["task.started last"] == ["task.ended each"]


@pytest.mark.requirement("RUN-ORDER-005")
def test_causes_of_what_did_not_begin() -> None:
    no = {"task": "a", "output": {"const": "no"}}
    tasks = {
        "a": RUN,
        "b": {**WORK, "needs": ["a"], "when": no},
        "c": {**WORK, "needs": ["a"], "gate": {"question": "Go?", "deadline": "1s"}},
        "none": {**EACH, "foreach": {"task": "list", "as": "item", "max": 1}},
        "list": LIST,
    }

    story = run(tasks, outputs(a="one", list=[]))

    found = causes(story)
    assert found["task.ended b"] == ["task.ended a"]
    assert found["task.ended c"] == ["task.ended a", "gate.decided c"]
    assert found["task.ended none"] == ["task.expanded none"]


@pytest.mark.requirement("RUN-ORDER-005")
def test_each_excess_follows_from_the_end_of_its_call() -> None:
    hand = ByHand({"a": WORK})
    hand.reply("a", "x", usage=Usage(9_999, 0, 9_999))

    finished = hand.story.one("task.finished")
    assert [entry.causes for entry in hand.story.of("budget.exceeded")] == [[hand.story.seq(finished)]] * 2


@pytest.mark.requirement("RUN-ORDER-005")
def test_an_agent_acts_by_its_name_and_a_command_as_the_runner() -> None:
    tasks = {"a": {**WORK, "accept": [{"command": ["check"]}, {"agent": "critic"}]}}

    story = run(tasks, [PASS, {"check": "command", "output": ""}, *outputs(a="x")])

    assert [(entry.kind, entry.actor) for entry in story.entries] == [
        ("task.started", "runner"),
        ("task.finished", "agent:writer"),
        ("verdict.asked", "runner"),
        ("verdict.given", "runner"),
        ("verdict.asked", "runner"),
        ("verdict.given", "agent:critic"),
        ("task.ended", "runner"),
        ("run.sealed", "runner"),
    ]
