"""Level 4: tasks with a foreach: their expansions, items and final states."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body, json_body
from fake_ledger.ledger_builder import STATES
from fake_ledger.run_builder import DONE, RunBuilder
from fake_ledger.wave_plans import data_edge, task, wave_plan
from unit.conformance.steps import last_code


def expanded_run(items: Body, instances: int, output: Body | None = None, **foreach: Any) -> RunBuilder:
    """Build a run in which `each` is expanded from the output of `a`. `c` needs the outputs of its instances."""
    fields = {"from": {"task": "a"}, "as": "item", "max": 2, **foreach}
    needs = [data_edge({"each": "each", "item": "/n"}, "all")]
    plan = wave_plan({"a": task(), "each": task(foreach=fields), "c": task(needs=needs)})
    builder = RunBuilder(plan)
    builder.complete("a", output or items)
    builder.expand("each", items, instances)
    return builder


@pytest.mark.requirement("LEDGER-SEMANTICS-006", "LEDGER-KIND-003")
@pytest.mark.parametrize(
    ("code", "builder"),
    [
        (None, lambda: expanded_run(json_body([1, 2]), 2)),
        (None, lambda: expanded_run(json_body([]), 0)),
        (
            None,
            lambda: expanded_run(json_body([5]), 1, json_body({"l": [5]}), **{"from": {"task": "a", "select": "/l"}}),
        ),
        ("L419", lambda: expanded_run(json_body([1, 2, 3]), 3)),
        ("L419", lambda: expanded_run(json_body([1, 2]), 1)),
        ("L419", lambda: expanded_run(json_body([1]), 2)),
        ("L419", lambda: expanded_run(json_body({"a": 1}), 1)),
        ("L419", lambda: expanded_run(json_body([1]), 1, json_body([2]))),
        ("L419", lambda: expanded_run(Body(b"[1 ]", "application/json"), 1)),
    ],
)
def test_an_expansion_has_the_items_of_its_foreach(
    tmp_path: Path, code: str | None, builder: Callable[[], RunBuilder]
) -> None:
    assert last_code(builder(), tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-006")
def test_a_task_is_expanded_once_when_it_may_start(tmp_path: Path) -> None:
    again = expanded_run(json_body([1]), 1)
    again.expand("each", json_body([1]), 1)
    assert last_code(again, tmp_path / "again") == "L409"

    plan = again.plan
    early = RunBuilder(plan)
    early.expand("each", json_body([1]), 1)
    assert last_code(early, tmp_path / "early") == "L403"

    failed = RunBuilder(plan)
    failed.end("a", "failed")
    failed.expand("each", json_body([1]), 1)
    assert last_code(failed, tmp_path / "failed") == "L404"

    ended = RunBuilder(plan)
    ended.complete("a", json_body([1]))
    ended.end("each", "stopped")
    ended.expand("each", json_body([1]), 1)
    assert last_code(ended, tmp_path / "ended") == "L409"


@pytest.mark.requirement("LEDGER-SEMANTICS-007", "LEDGER-KIND-003")
def test_an_instance_receives_its_item(tmp_path: Path) -> None:
    builder = expanded_run(json_body([{"n": 1}, {"n": 2}]), 2)
    expansion = builder.last["expanded", "each"]
    builder.deliver("each[1]", "item", json_body({"n": 2}), expansion)
    builder.start("each[1]")
    assert last_code(builder, tmp_path / "right") is None

    builder.deliver("each[0]", "item", json_body({"n": 2}), expansion)
    assert last_code(builder, tmp_path / "wrong") == "L407"

    uncaused = expanded_run(json_body([1]), 1)
    uncaused.deliver("each[0]", "item", json_body(1), 0)
    assert last_code(uncaused, tmp_path / "uncaused") == "L426"

    without_item = expanded_run(json_body([1]), 1)
    without_item.start("each[0]")
    assert last_code(without_item, tmp_path / "empty") == "L406"

    out_of_range = expanded_run(json_body([1]), 1)
    out_of_range.deliver("each[1]", "item", json_body(1), expansion)
    assert last_code(out_of_range, tmp_path / "out_of_range") == "L402"


def tolerant_run(items: list[int]) -> RunBuilder:
    """Like `expanded_run`, but instances of `each` may fail."""
    fields = {"from": {"task": "a"}, "as": "item", "max": 2}
    needs = [data_edge({"each": "each"}, "all")]
    builder = RunBuilder(
        wave_plan({"a": task(), "each": task(foreach=fields, allow_failure=True), "c": task(needs=needs)}),
    )
    builder.complete("a", json_body(items))
    builder.expand("each", json_body(items), len(items))
    return builder


def run_instance(builder: RunBuilder, index: int, output: Body = DONE, state: str = "passed") -> None:
    unit = f"each[{index}]"
    builder.deliver(unit, "item", json_body(index), builder.last["expanded", "each"])
    builder.start(unit)
    builder.finish(unit, output, status="ok" if state == "passed" else "error")
    builder.end(unit, state)


@pytest.mark.requirement("LEDGER-SEMANTICS-014", "LEDGER-SEMANTICS-018")
def test_a_task_with_foreach_ends_after_its_instances(tmp_path: Path) -> None:
    builder = expanded_run(json_body([0, 1]), 2)
    run_instance(builder, 1, json_body({"n": "b"}))
    run_instance(builder, 0, json_body({"n": "a"}))
    ended = builder.end("each")
    builder.deliver("c", "all", json_body(["a", "b"]), ended)

    assert last_code(builder, tmp_path) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
@pytest.mark.parametrize(
    ("states", "state", "code"),
    [
        (["passed", None], "passed", "L417"),
        (["passed", "failed"], "passed", "L417"),
        (["passed", "failed"], "failed", None),
        (["passed", "passed"], "failed", "L417"),
        (["passed", "passed"], "stopped", "L417"),
        (["failed", "failed"], "skipped", "L417"),
    ],
)
def test_the_state_of_a_task_with_foreach_follows_from_its_instances(
    tmp_path: Path, states: list[str | None], state: str, code: str | None
) -> None:
    builder = expanded_run(json_body([0, 1]), 2)
    for index, instance_state in enumerate(states):
        if instance_state:
            run_instance(builder, index, json_body({"n": 1}), instance_state)

    builder.end("each", state)

    assert last_code(builder, tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
def test_a_task_with_foreach_that_was_not_expanded_may_be_skipped_but_not_pass(tmp_path: Path) -> None:
    plan = expanded_run(json_body([]), 0).plan
    for state, code in (("skipped", None), ("passed", "L417")):
        builder = RunBuilder(plan)
        builder.end("each", state)
        assert last_code(builder, tmp_path / state) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
def test_the_outputs_do_not_include_a_tolerated_instance(tmp_path: Path) -> None:
    builder = tolerant_run([0, 1])
    run_instance(builder, 0, DONE, "tolerated")
    run_instance(builder, 1, json_body("b"))
    builder.deliver("c", "all", json_body(["b"]), builder.end("each"))

    assert last_code(builder, tmp_path) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
@pytest.mark.parametrize(
    ("instances", "allowed"),
    [
        (["tolerated", "tolerated"], {"tolerated"}),
        (["tolerated", "passed"], {"passed"}),
        (["passed", "passed"], {"passed"}),
        (["tolerated", "stopped"], {"tolerated", "stopped", "refused", "cancelled"}),
        ([], {"passed", "skipped"}),
    ],
)
@pytest.mark.parametrize("state", STATES)
def test_a_task_is_tolerated_if_and_only_if_all_its_instances_are(
    tmp_path: Path, instances: list[str], allowed: set[str], state: str
) -> None:
    builder = tolerant_run([*range(len(instances))])
    for index, instance_state in enumerate(instances):
        run_instance(builder, index, json_body(index), instance_state)

    builder.end("each", state)

    assert last_code(builder, tmp_path) == (None if state in allowed else "L417")


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
@pytest.mark.parametrize(("state", "code"), [("tolerated", None), ("skipped", "L417")])
def test_a_task_is_tolerated_if_its_instances_were_tolerated_before_an_attempt(
    tmp_path: Path, state: str, code: str | None
) -> None:
    builder = tolerant_run([0])
    builder.end("each[0]", "tolerated", "expects")

    builder.end("each", state)

    assert last_code(builder, tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-014", "LEDGER-SEMANTICS-007")
def test_a_task_whose_instances_were_all_tolerated_delivers_nothing(tmp_path: Path) -> None:
    builder = tolerant_run([0])
    run_instance(builder, 0, DONE, "tolerated")

    builder.deliver("c", "all", json_body([]), builder.end("each", "tolerated"))

    assert last_code(builder, tmp_path) == "L404"
