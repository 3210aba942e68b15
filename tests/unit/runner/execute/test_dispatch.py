"""When tasks arrive, whether they begin, and what they are handed."""

from typing import Any

import orjson
import pytest

from forum_adapters.base import ErrorKind, Failure
from unit.runner.execute.small_runs import RUN, WORK, ByHand, Story, outputs, run

OBJECT = {**RUN, "output": True}


@pytest.mark.requirement("RUN-DISPATCH-001")
def test_a_wave_waits_for_all_of_the_one_before() -> None:
    tasks = {"a": WORK, "b": WORK, "c": {**WORK, "needs": ["a"]}}
    answers = [{"task": "b", "output": "x", "latency": "5s"}, {"output": "x"}]

    story = run(tasks, answers, policy={"dispatch": "waves"})

    assert story.starts == [(0, "a"), (0, "b"), (5_000, "c")]
    assert [entry.data["wave"] for entry in story.of("wave.opened")] == [0, 1]


@pytest.mark.requirement("RUN-DISPATCH-001")
def test_an_eager_task_waits_for_what_it_depends_on_alone() -> None:
    tasks = {"a": WORK, "b": WORK, "c": {**WORK, "needs": ["a"]}}
    answers = [{"task": "b", "output": "x", "latency": "5s"}, {"output": "x"}]

    story = run(tasks, answers)

    assert story.starts == [(0, "a"), (0, "b"), (0, "c")]
    assert story.of("wave.opened") == []


@pytest.mark.requirement("RUN-DISPATCH-001")
def test_tasks_that_arrive_together_do_so_in_plan_order() -> None:
    after = {"needs": [{"task": "m", "edge": "order"}]}
    tasks = {"z": {**WORK, **after}, "b": {**WORK, **after}, "m": WORK, "c": {**WORK, **after}}

    story = run(tasks, [{"output": "x"}], policy={"max_parallel": 1})

    assert [name for _, name in story.starts] == ["m", "b", "c", "z"]


@pytest.mark.requirement("RUN-DISPATCH-001")
def test_a_run_that_is_to_stop_opens_no_wave() -> None:
    tasks = {"a": WORK, "b": {**WORK, "needs": [{"task": "a", "edge": "order"}]}}

    story = run(tasks, [{"error": {"kind": "auth"}}], policy={"dispatch": "waves"})

    assert len(story.of("wave.opened")) == 1


def condition(**when: Any) -> dict[str, Any]:
    return {**WORK, "needs": [{"task": "a", "edge": "order"}], "when": {"task": "a", **when}}


@pytest.mark.requirement("RUN-WHEN-001")
@pytest.mark.parametrize(
    ("when", "end"),
    [
        ({"output": {"const": {"n": 1}}}, "passed"),
        ({"output": {"const": {"n": 2}}}, "skipped/condition"),
        ({"select": "/n", "output": {"const": 1}}, "passed"),
        ({"select": "/m", "output": True}, "skipped/condition"),
    ],
)
def test_a_condition_holds_if_its_value_is_there_and_fits(when: dict[str, Any], end: str) -> None:
    assert run({"a": OBJECT, "b": condition(**when)}, outputs(a={"n": 1}, b="x")).ends["b"] == end


@pytest.mark.requirement("RUN-WHEN-001")
def test_a_condition_on_a_task_that_did_not_pass_does_not_hold() -> None:
    tasks = {"a": {**OBJECT, "allow_failure": True}, "b": condition(output=True)}

    story = run(tasks, [{"task": "a", "error": {"kind": "auth"}}, {"output": "x"}])

    assert story.ends == {"a": "tolerated/error", "b": "skipped/condition"}


@pytest.mark.requirement("RUN-ARRIVE-001")
def test_a_task_that_is_cut_off_is_not_asked_for_its_condition() -> None:
    task = {**WORK, "needs": ["a"], "when": {"task": "a", "output": {"const": 1}}}

    story = run({"a": OBJECT, "b": task}, [{"error": {"kind": "auth"}}], policy={"on_failure": "continue"})

    assert story.ends["b"] == "skipped/upstream"


@pytest.mark.requirement("RUN-ARRIVE-001")
def test_a_budget_goes_before_all_else() -> None:
    tasks = {"a": {**WORK, "retry": {"attempts": 2}}, "b": {**WORK, "needs": ["a"]}}

    story = run(tasks, [{"error": {"kind": "malformed"}}], policy={"budget": {"output_tokens": 20}})

    assert story.ends == {"a": "stopped/budget", "b": "stopped/budget"}


EACH = {**WORK, "foreach": {"task": "a", "as": "item", "max": 2}}


@pytest.mark.requirement("RUN-EXPAND-001")
@pytest.mark.parametrize("items", [{"n": 1}, [1, 2, 3], "text"])
def test_what_is_no_list_or_too_long_fails_the_task(items: Any) -> None:
    story = run({"a": OBJECT, "each": EACH}, outputs(a=items, each="x"))

    assert story.ends["each"] == "failed/expects"


@pytest.mark.requirement("RUN-EXPAND-001")
def test_items_that_are_not_there_fail_the_task() -> None:
    each = {**EACH, "foreach": {"task": "a", "select": "/items", "as": "item", "max": 2}, "allow_failure": True}

    assert run({"a": OBJECT, "each": each}, outputs(a={}, each="x")).ends["each"] == "tolerated/expects"


@pytest.mark.requirement("RUN-EXPAND-001")
def test_a_task_has_an_instance_for_every_item() -> None:
    story = run({"a": OBJECT, "each": EACH}, outputs(a=["x", {"b": 1, "a": 2}], each="x"))

    assert story.one("task.expanded").data == {"task": "each", "instances": 2}
    assert story.one("task.expanded").bodies == {"items": b'["x",{"a":2,"b":1}]'}
    given = [(entry.data, entry.bodies) for entry in story.of("edge.delivered")]
    assert given == [
        ({"task": "each[0]", "as": "item"}, {"value": b'"x"'}),
        ({"task": "each[1]", "as": "item"}, {"value": b'{"a":2,"b":1}'}),
    ]


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_task_without_items_has_passed() -> None:
    assert run({"a": OBJECT, "each": EACH}, outputs(a=[])).ends == {"a": "passed", "each": "passed"}


TOLERANT = {
    "a": OBJECT,
    "each": {**EACH, "allow_failure": True},
    "by_data": {**WORK, "needs": ["each"]},
    "by_order": {**WORK, "needs": [{"task": "each", "edge": "order"}]},
    "each_again": {**WORK, "foreach": {"task": "each", "as": "item", "max": 2}},
}


def run_tolerant(items: Any, failing: tuple[int, ...]) -> Story:
    """A run in which these instances fail, and all else answers with its name."""
    failures = [{"task": f"each[{index}]", "error": {"kind": "auth"}} for index in failing]
    others = ["each", "by_data", "by_order", "each_again"]
    answers = [*failures, *outputs(a=items, **{name: name for name in others})]
    return run(TOLERANT, answers, outputs={"all": {"task": "each"}})


@pytest.mark.requirement("RUN-EXPAND-002", "RUN-FAIL-001", "RUN-FAIL-002")
def test_a_task_all_of_whose_instances_are_tolerated_is_tolerated_gives_no_data_and_blocks_nobody() -> None:
    story = run_tolerant([1, 2], failing=(0, 1))

    assert story.ends == {
        "a": "passed",
        "each[0]": "tolerated/error",
        "each[1]": "tolerated/error",
        "each": "tolerated/error",
        "by_data": "skipped/upstream",
        "by_order": "passed",
        "each_again": "skipped/upstream",
    }
    assert story.cause(story.one("task.ended", "each")) == ["task.ended each[1]"]
    assert (story.of("answer.given"), story.status) == ([], "passed")


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_task_some_of_whose_instances_are_tolerated_passes_and_gives_what_the_others_gave() -> None:
    story = run_tolerant([1, 2], failing=(0,))

    assert (story.ends["each[0]"], story.ends["each"]) == ("tolerated/error", "passed")
    assert story.one("edge.delivered", "by_data").bodies == {"value": b'["each"]'}
    assert story.one("answer.given").bodies == {"value": b'["each"]'}


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_task_that_may_fail_and_has_no_items_passes_and_gives_an_empty_list() -> None:
    story = run_tolerant([], failing=())

    assert (story.ends["each"], story.one("answer.given").bodies) == ("passed", {"value": b"[]"})


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_tolerated_task_has_the_reason_error_whatever_those_of_its_instances() -> None:
    each = {**TOLERANT["each"], "accept": [{"schema": {"const": "good"}}]}

    story = run({"a": OBJECT, "each": each}, outputs(a=[1, 2], each="bad"))

    assert story.ends == {
        "a": "passed",
        "each[0]": "tolerated/verdict",
        "each[1]": "tolerated/verdict",
        "each": "tolerated/error",
    }


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_process_that_goes_on_ends_a_task_whose_instances_were_all_tolerated_before() -> None:
    tasks = {"a": OBJECT, "each": TOLERANT["each"]}
    hand = ByHand(tasks)
    hand.reply("a", "[1]")
    hand.reply("each[0]", failure=Failure(ErrorKind.AUTH))
    until = hand.story.seq(hand.story.one("task.ended", "each[0]"))
    cut = Story(hand.story.plan, hand.story.run, hand.story.entries[:until], hand.story.stored[:until])

    again = ByHand(tasks, told=cut)

    assert again.story.ends == {"each": "tolerated/error"}


GATE = {"question": "Go?", "deadline": "1s"}


@pytest.mark.requirement("RUN-EXPAND-002")
@pytest.mark.parametrize(
    ("answers", "each", "policy", "end"),
    [
        ([{"output": "x"}], {}, {}, "passed"),
        ([{"task": "each[0]", "error": {"kind": "auth"}}], {"allow_failure": True}, {}, "passed"),
        ([{"task": "each[0]", "error": {"kind": "auth"}}], {}, {"on_failure": "continue"}, "failed/error"),
        ([], {"budget": {"calls": 1}}, {"on_failure": "continue"}, "stopped/budget"),
        ([], {"gate": GATE}, {}, "refused/rejected"),
        ([{"task": "b", "error": {"kind": "auth"}}], {}, {"max_parallel": 1}, "skipped/failure"),
        ([{"task": "b", "error": {"kind": "auth"}, "latency": "500ms"}], {}, {"max_parallel": 2}, "cancelled/failure"),
    ],
)
def test_a_task_ends_as_its_instances_did(
    answers: list[dict[str, Any]], each: dict[str, Any], policy: dict[str, Any], end: str
) -> None:
    tasks = {"a": OBJECT, "b": {**WORK, "needs": [{"task": "a", "edge": "order"}]}, "each": {**EACH, **each}}
    said = [{"task": "a", "output": [1, 2]}, *answers, {"task": "each[0]", "output": "x", "latency": "1s"}]

    story = run(tasks, [*said, {"task": "each[1]", "output": "x", "latency": "9s"}, {"output": "x"}], policy=policy)

    assert story.ends["each"] == end


@pytest.mark.requirement("RUN-HAND-001")
def test_values_are_handed_over_in_the_order_of_the_edges_and_the_item_last() -> None:
    tasks = {"a": OBJECT, "b": OBJECT, "each": {**EACH, "needs": ["b", {"task": "a", "select": "/0", "as": "z"}]}}

    story = run(tasks, outputs(a=[1], b={"n": 1}, each="x"))

    given = [(entry.data["as"], entry.bodies["value"]) for entry in story.of("edge.delivered")]
    assert given == [("b", b'{"n":1}'), ("z", b"1"), ("item", b"1")]


@pytest.mark.requirement("RUN-HAND-001")
@pytest.mark.parametrize("edge", [{"expects": {"type": "array"}}, {"select": "/m"}])
def test_a_value_that_is_not_as_expected_fails_the_unit(edge: dict[str, Any]) -> None:
    tasks = {"a": OBJECT, "b": OBJECT, "out": {**WORK, "needs": ["a", {"task": "b", **edge}]}}

    story = run(tasks, outputs(a={}, b={"n": 1}))

    assert [entry.data["as"] for entry in story.of("edge.delivered")] == ["a"]
    assert story.ends["out"] == "failed/expects"


@pytest.mark.requirement("RUN-HAND-002")
@pytest.mark.parametrize(("max_bytes", "kept"), [(1, 1), (2, 1), (3, 3), (4, 3), (5, None)])
def test_a_value_is_cut_where_no_character_is_split(max_bytes: int, kept: int | None) -> None:
    tasks = {"a": RUN, "out": {**WORK, "needs": [{"task": "a", "max_bytes": max_bytes}]}}

    story = run(tasks, outputs(a="aéé", out="x"))

    assert story.one("edge.delivered").bodies == {"value": "aéé".encode()}
    assert [entry.data for entry in story.of("context.cut")] == (
        [] if kept is None else [{"task": "out", "as": "a", "bytes": 5, "kept_bytes": kept}]
    )


@pytest.mark.requirement("RUN-HAND-002")
def test_a_program_that_reads_json_gets_all_of_a_value_and_nothing_is_told_of_a_cut() -> None:
    tasks = {"a": RUN, "out": {**RUN, "agent": "parser", "needs": [{"task": "a", "max_bytes": 1}]}}

    story = run(tasks, outputs(a="all of it", out="x"))

    assert story.of("context.cut") == []
    given = orjson.loads(story.of("task.started")[1].bodies["prompt"])["stdin"]
    assert orjson.loads(given)["needs"] == {"a": "all of it"}


@pytest.mark.requirement("RUN-HAND-003")
def test_a_sensitive_task_salts_all_its_bodies() -> None:
    gate = {"question": "Go?", "deadline": "1s", "on_deadline": "approve"}
    each = {**EACH, "sensitive": True, "gate": gate, "accept": [{"command": ["check"]}]}

    story = run({"a": OBJECT, "each": each}, [{"check": "command", "output": "ok"}, *outputs(a=[1], each="x")])

    of_each = [
        (name, body.is_sensitive)
        for entry, bodies in zip(story.entries, story.stored, strict=True)
        for name, body in bodies.items()
        if entry.data.get("task", "").startswith("each")
    ]
    names = ["items", "value", "displayed", "prompt", "output", "prompt", "reply", "reason"]
    assert of_each == [(name, True) for name in names]


@pytest.mark.requirement("RUN-HAND-003")
def test_what_is_made_of_a_salted_output_is_salted() -> None:
    tasks = {"a": {**OBJECT, "sensitive": True}, "out": {**WORK, "needs": [{"task": "a", "select": "/n", "as": "n"}]}}

    story = run(tasks, outputs(a={"n": 1}, out="x"), outputs={"o": {"task": "a", "select": "/n"}})

    salted = [
        (entry.kind, body.is_sensitive)
        for entry, bodies in zip(story.entries, story.stored, strict=True)
        for name, body in bodies.items()
        if name == "value"
    ]
    assert salted == [("edge.delivered", True), ("answer.given", True)]


@pytest.mark.requirement("RUN-STATE-001")
@pytest.mark.parametrize(("allowed", "state"), [({}, "failed"), ({"allow_failure": True}, "tolerated")])
def test_a_unit_that_fails_is_failed_or_tolerated(allowed: dict[str, Any], state: str) -> None:
    hand = ByHand({"a": {**WORK, **allowed}})
    hand.reply("a", "", failure=Failure(ErrorKind.AUTH))

    assert hand.story.ends == {"a": f"{state}/error"}
