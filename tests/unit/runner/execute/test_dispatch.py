"""When tasks become ready, whether they start, and which values they receive."""

from typing import Any

import orjson
import pytest

from forum_adapters.base import ErrorKind, Failure
from unit.runner.execute.small_runs import RUN, WORK, ManualRun, RecordedRun, outputs, run

OBJECT = {**RUN, "output": True}


@pytest.mark.requirement("RUN-DISPATCH-001")
def test_a_wave_waits_for_every_task_of_the_previous_wave() -> None:
    tasks = {"a": WORK, "b": WORK, "c": {**WORK, "needs": ["a"]}}
    answers = [{"task": "b", "output": "x", "latency": "5s"}, {"output": "x"}]

    recorded = run(tasks, answers, policy={"dispatch": "waves"})

    assert recorded.starts == [(0, "a"), (0, "b"), (5_000, "c")]
    assert [entry.data["wave"] for entry in recorded.of_kind("wave.opened")] == [0, 1]


@pytest.mark.requirement("RUN-DISPATCH-001")
def test_an_eager_task_waits_only_for_its_dependencies() -> None:
    tasks = {"a": WORK, "b": WORK, "c": {**WORK, "needs": ["a"]}}
    answers = [{"task": "b", "output": "x", "latency": "5s"}, {"output": "x"}]

    recorded = run(tasks, answers)

    assert recorded.starts == [(0, "a"), (0, "b"), (0, "c")]
    assert recorded.of_kind("wave.opened") == []


@pytest.mark.requirement("RUN-DISPATCH-001")
def test_tasks_that_become_ready_together_start_in_plan_order() -> None:
    after = {"needs": [{"task": "m", "edge": "order"}]}
    tasks = {"z": {**WORK, **after}, "b": {**WORK, **after}, "m": WORK, "c": {**WORK, **after}}

    recorded = run(tasks, [{"output": "x"}], policy={"max_parallel": 1})

    assert [name for _, name in recorded.starts] == ["m", "b", "c", "z"]


@pytest.mark.requirement("RUN-DISPATCH-001")
def test_a_stopping_run_opens_no_wave() -> None:
    tasks = {"a": WORK, "b": {**WORK, "needs": [{"task": "a", "edge": "order"}]}}

    recorded = run(tasks, [{"error": {"kind": "auth"}}], policy={"dispatch": "waves"})

    assert len(recorded.of_kind("wave.opened")) == 1


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
def test_a_condition_holds_if_its_value_exists_and_matches(when: dict[str, Any], end: str) -> None:
    assert run({"a": OBJECT, "b": condition(**when)}, outputs(a={"n": 1}, b="x")).ends["b"] == end


@pytest.mark.requirement("RUN-WHEN-001")
def test_a_condition_on_a_task_that_did_not_pass_is_false() -> None:
    tasks = {"a": {**OBJECT, "allow_failure": True}, "b": condition(output=True)}

    recorded = run(tasks, [{"task": "a", "error": {"kind": "auth"}}, {"output": "x"}])

    assert recorded.ends == {"a": "tolerated/error", "b": "skipped/condition"}


@pytest.mark.requirement("RUN-ARRIVE-001")
def test_a_task_blocked_by_a_failure_does_not_evaluate_its_condition() -> None:
    task = {**WORK, "needs": ["a"], "when": {"task": "a", "output": {"const": 1}}}

    recorded = run({"a": OBJECT, "b": task}, [{"error": {"kind": "auth"}}], policy={"on_failure": "continue"})

    assert recorded.ends["b"] == "skipped/upstream"


@pytest.mark.requirement("RUN-ARRIVE-001")
def test_an_exhausted_budget_takes_precedence_over_other_reasons() -> None:
    tasks = {"a": {**WORK, "retry": {"attempts": 2}}, "b": {**WORK, "needs": ["a"]}}

    recorded = run(tasks, [{"error": {"kind": "malformed"}}], policy={"budget": {"output_tokens": 20}})

    assert recorded.ends == {"a": "stopped/budget", "b": "stopped/budget"}


EACH = {**WORK, "foreach": {"task": "a", "as": "item", "max": 2}}


@pytest.mark.requirement("RUN-EXPAND-001")
@pytest.mark.parametrize("items", [{"n": 1}, [1, 2, 3], "text"])
def test_a_foreach_over_a_non_list_or_too_long_list_fails_the_task(items: Any) -> None:
    recorded = run({"a": OBJECT, "each": EACH}, outputs(a=items, each="x"))

    assert recorded.ends["each"] == "failed/expects"


@pytest.mark.requirement("RUN-EXPAND-001")
def test_missing_items_fail_the_task() -> None:
    each = {**EACH, "foreach": {"task": "a", "select": "/items", "as": "item", "max": 2}, "allow_failure": True}

    assert run({"a": OBJECT, "each": each}, outputs(a={}, each="x")).ends["each"] == "tolerated/expects"


@pytest.mark.requirement("RUN-EXPAND-001")
def test_a_foreach_task_has_one_instance_per_item() -> None:
    recorded = run({"a": OBJECT, "each": EACH}, outputs(a=["x", {"b": 1, "a": 2}], each="x"))

    assert recorded.only("task.expanded").data == {"task": "each", "instances": 2}
    assert recorded.only("task.expanded").bodies == {"items": b'["x",{"a":2,"b":1}]'}
    delivered = [(entry.data, entry.bodies) for entry in recorded.of_kind("edge.delivered")]
    assert delivered == [
        ({"task": "each[0]", "as": "item"}, {"value": b'"x"'}),
        ({"task": "each[1]", "as": "item"}, {"value": b'{"a":2,"b":1}'}),
    ]


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_foreach_task_without_items_passes() -> None:
    assert run({"a": OBJECT, "each": EACH}, outputs(a=[])).ends == {"a": "passed", "each": "passed"}


TOLERANT = {
    "a": OBJECT,
    "each": {**EACH, "allow_failure": True},
    "by_data": {**WORK, "needs": ["each"]},
    "by_order": {**WORK, "needs": [{"task": "each", "edge": "order"}]},
    "each_again": {**WORK, "foreach": {"task": "each", "as": "item", "max": 2}},
}


def run_tolerant(items: Any, failing: tuple[int, ...]) -> RecordedRun:
    """Execute a run in which these instances fail and every other task answers with its name."""
    failures = [{"task": f"each[{index}]", "error": {"kind": "auth"}} for index in failing]
    names = ["each", "by_data", "by_order", "each_again"]
    answers = [*failures, *outputs(a=items, **{name: name for name in names})]
    return run(TOLERANT, answers, outputs={"all": {"task": "each"}})


@pytest.mark.requirement("RUN-EXPAND-002", "RUN-FAIL-001", "RUN-FAIL-002")
def test_a_task_with_only_tolerated_instances_is_tolerated_without_data_and_blocks_nothing() -> None:
    recorded = run_tolerant([1, 2], failing=(0, 1))

    assert recorded.ends == {
        "a": "passed",
        "each[0]": "tolerated/error",
        "each[1]": "tolerated/error",
        "each": "tolerated/error",
        "by_data": "skipped/upstream",
        "by_order": "passed",
        "each_again": "skipped/upstream",
    }
    assert recorded.cause(recorded.only("task.ended", "each")) == ["task.ended each[1]"]
    assert (recorded.of_kind("answer.given"), recorded.status) == ([], "passed")


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_task_with_some_tolerated_instances_passes_with_the_outputs_of_the_rest() -> None:
    recorded = run_tolerant([1, 2], failing=(0,))

    assert (recorded.ends["each[0]"], recorded.ends["each"]) == ("tolerated/error", "passed")
    assert recorded.only("edge.delivered", "by_data").bodies == {"value": b'["each"]'}
    assert recorded.only("answer.given").bodies == {"value": b'["each"]'}


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_task_that_may_fail_and_has_no_items_passes_with_an_empty_list() -> None:
    recorded = run_tolerant([], failing=())

    assert (recorded.ends["each"], recorded.only("answer.given").bodies) == ("passed", {"value": b"[]"})


@pytest.mark.requirement("RUN-EXPAND-002")
def test_a_tolerated_task_has_the_reason_error_regardless_of_its_instances() -> None:
    each = {**TOLERANT["each"], "accept": [{"schema": {"const": "good"}}]}

    recorded = run({"a": OBJECT, "each": each}, outputs(a=[1, 2], each="bad"))

    assert recorded.ends == {
        "a": "passed",
        "each[0]": "tolerated/verdict",
        "each[1]": "tolerated/verdict",
        "each": "tolerated/error",
    }


@pytest.mark.requirement("RUN-EXPAND-002")
def test_resuming_ends_a_task_whose_instances_were_all_tolerated_before() -> None:
    tasks = {"a": OBJECT, "each": TOLERANT["each"]}
    manual = ManualRun(tasks)
    manual.reply("a", "[1]")
    manual.reply("each[0]", failure=Failure(ErrorKind.AUTH))
    length = manual.recorded.seq(manual.recorded.only("task.ended", "each[0]"))
    truncated = RecordedRun(
        manual.recorded.plan, manual.recorded.run, manual.recorded.entries[:length], manual.recorded.stored[:length]
    )

    resumed = ManualRun(tasks, resumed_from=truncated)

    assert resumed.recorded.ends == {"each": "tolerated/error"}


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
def test_the_end_of_a_foreach_task_follows_from_its_instances(
    answers: list[dict[str, Any]], each: dict[str, Any], policy: dict[str, Any], end: str
) -> None:
    tasks = {"a": OBJECT, "b": {**WORK, "needs": [{"task": "a", "edge": "order"}]}, "each": {**EACH, **each}}
    script = [{"task": "a", "output": [1, 2]}, *answers, {"task": "each[0]", "output": "x", "latency": "1s"}]
    script += [{"task": "each[1]", "output": "x", "latency": "9s"}, {"output": "x"}]

    recorded = run(tasks, script, policy=policy)

    assert recorded.ends["each"] == end


@pytest.mark.requirement("RUN-HAND-001")
def test_values_are_delivered_in_edge_order_with_the_item_last() -> None:
    tasks = {"a": OBJECT, "b": OBJECT, "each": {**EACH, "needs": ["b", {"task": "a", "select": "/0", "as": "z"}]}}

    recorded = run(tasks, outputs(a=[1], b={"n": 1}, each="x"))

    delivered = [(entry.data["as"], entry.bodies["value"]) for entry in recorded.of_kind("edge.delivered")]
    assert delivered == [("b", b'{"n":1}'), ("z", b"1"), ("item", b"1")]


@pytest.mark.requirement("RUN-HAND-001")
@pytest.mark.parametrize("edge", [{"expects": {"type": "array"}}, {"select": "/m"}])
def test_a_missing_or_unexpected_value_fails_the_unit(edge: dict[str, Any]) -> None:
    tasks = {"a": OBJECT, "b": OBJECT, "out": {**WORK, "needs": ["a", {"task": "b", **edge}]}}

    recorded = run(tasks, outputs(a={}, b={"n": 1}))

    assert [entry.data["as"] for entry in recorded.of_kind("edge.delivered")] == ["a"]
    assert recorded.ends["out"] == "failed/expects"


@pytest.mark.requirement("RUN-HAND-002")
@pytest.mark.parametrize(("max_bytes", "kept_bytes"), [(1, 1), (2, 1), (3, 3), (4, 3), (5, None)])
def test_truncating_a_value_does_not_split_a_character(max_bytes: int, kept_bytes: int | None) -> None:
    tasks = {"a": RUN, "out": {**WORK, "needs": [{"task": "a", "max_bytes": max_bytes}]}}

    recorded = run(tasks, outputs(a="aéé", out="x"))

    assert recorded.only("edge.delivered").bodies == {"value": "aéé".encode()}
    assert [entry.data for entry in recorded.of_kind("context.cut")] == (
        [] if kept_bytes is None else [{"task": "out", "as": "a", "bytes": 5, "kept_bytes": kept_bytes}]
    )


@pytest.mark.requirement("RUN-HAND-002")
def test_a_program_that_reads_json_gets_the_full_value_and_no_truncation_is_recorded() -> None:
    tasks = {"a": RUN, "out": {**RUN, "agent": "parser", "needs": [{"task": "a", "max_bytes": 1}]}}

    recorded = run(tasks, outputs(a="all of it", out="x"))

    assert recorded.of_kind("context.cut") == []
    stdin = orjson.loads(recorded.of_kind("task.started")[1].bodies["prompt"])["stdin"]
    assert orjson.loads(stdin)["needs"] == {"a": "all of it"}


@pytest.mark.requirement("RUN-HAND-003")
def test_all_bodies_of_a_sensitive_task_are_salted() -> None:
    gate = {"question": "Go?", "deadline": "1s", "on_deadline": "approve"}
    each = {**EACH, "sensitive": True, "gate": gate, "accept": [{"command": ["check"]}]}

    recorded = run({"a": OBJECT, "each": each}, [{"check": "command", "output": "ok"}, *outputs(a=[1], each="x")])

    of_each = [
        (name, body.is_sensitive)
        for entry, bodies in zip(recorded.entries, recorded.stored, strict=True)
        for name, body in bodies.items()
        if entry.data.get("task", "").startswith("each")
    ]
    names = ["items", "value", "displayed", "prompt", "output", "prompt", "reply", "reason"]
    assert of_each == [(name, True) for name in names]


@pytest.mark.requirement("RUN-HAND-003")
def test_values_derived_from_a_salted_output_are_salted() -> None:
    tasks = {"a": {**OBJECT, "sensitive": True}, "out": {**WORK, "needs": [{"task": "a", "select": "/n", "as": "n"}]}}

    recorded = run(tasks, outputs(a={"n": 1}, out="x"), outputs={"o": {"task": "a", "select": "/n"}})

    salted = [
        (entry.kind, body.is_sensitive)
        for entry, bodies in zip(recorded.entries, recorded.stored, strict=True)
        for name, body in bodies.items()
        if name == "value"
    ]
    assert salted == [("edge.delivered", True), ("answer.given", True)]


@pytest.mark.requirement("RUN-STATE-001")
@pytest.mark.parametrize(("allowed", "state"), [({}, "failed"), ({"allow_failure": True}, "tolerated")])
def test_an_error_ends_a_unit_as_failed_or_tolerated(allowed: dict[str, Any], state: str) -> None:
    manual = ManualRun({"a": {**WORK, **allowed}})
    manual.reply("a", "", failure=Failure(ErrorKind.AUTH))

    assert manual.recorded.ends == {"a": f"{state}/error"}
