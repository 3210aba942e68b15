"""Level 4: tasks with a foreach: expansions, items, and how they end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body, json_body
from fake_ledger.ledger_builder import STATES
from fake_ledger.run_builder import DONE, RunBuilder
from fake_ledger.wave_plans import data_edge, task, wave_plan
from unit.conformance.steps import last_code


def listed(items: Body, instances: int, output: Body | None = None, **foreach: Any) -> RunBuilder:
    """Task `a` gives a list, and `each` is expanded from it; `c` takes what its instances give."""
    fields = {"from": {"task": "a"}, "as": "item", "max": 2, **foreach}
    needs = [data_edge({"each": "each", "item": "/n"}, "all")]
    plan = wave_plan({"a": task(), "each": task(foreach=fields), "c": task(needs=needs)})
    story = RunBuilder(plan)
    story.complete("a", output or items)
    story.expand("each", items, instances)
    return story


@pytest.mark.requirement("LEDGER-SEMANTICS-006", "LEDGER-KIND-003")
@pytest.mark.parametrize(
    ("code", "story"),
    [
        (None, lambda: listed(json_body([1, 2]), 2)),
        (None, lambda: listed(json_body([]), 0)),
        (None, lambda: listed(json_body([5]), 1, json_body({"l": [5]}), **{"from": {"task": "a", "select": "/l"}})),
        ("L419", lambda: listed(json_body([1, 2, 3]), 3)),
        ("L419", lambda: listed(json_body([1, 2]), 1)),
        ("L419", lambda: listed(json_body([1]), 2)),
        ("L419", lambda: listed(json_body({"a": 1}), 1)),
        ("L419", lambda: listed(json_body([1]), 1, json_body([2]))),
        ("L419", lambda: listed(Body(b"[1 ]", "application/json"), 1)),
    ],
)
def test_an_expansion_is_of_the_items_of_its_foreach(
    tmp_path: Path, code: str | None, story: Callable[[], RunBuilder]
) -> None:
    assert last_code(story(), tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-006")
def test_a_task_is_expanded_once_when_it_may_begin(tmp_path: Path) -> None:
    again = listed(json_body([1]), 1)
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
def test_an_instance_is_handed_its_item(tmp_path: Path) -> None:
    story = listed(json_body([{"n": 1}, {"n": 2}]), 2)
    expanded = story.last["expanded", "each"]
    story.deliver("each[1]", "item", json_body({"n": 2}), expanded)
    story.start("each[1]")
    assert last_code(story, tmp_path / "right") is None

    story.deliver("each[0]", "item", json_body({"n": 2}), expanded)
    assert last_code(story, tmp_path / "wrong") == "L407"

    uncaused = listed(json_body([1]), 1)
    uncaused.deliver("each[0]", "item", json_body(1), 0)
    assert last_code(uncaused, tmp_path / "uncaused") == "L426"

    empty_handed = listed(json_body([1]), 1)
    empty_handed.start("each[0]")
    assert last_code(empty_handed, tmp_path / "empty") == "L406"

    beyond = listed(json_body([1]), 1)
    beyond.deliver("each[1]", "item", json_body(1), expanded)
    assert last_code(beyond, tmp_path / "beyond") == "L402"


def tolerant(items: list[int]) -> RunBuilder:
    """As `listed`, and the instances of `each` may fail."""
    fields = {"from": {"task": "a"}, "as": "item", "max": 2}
    needs = [data_edge({"each": "each"}, "all")]
    story = RunBuilder(
        wave_plan({"a": task(), "each": task(foreach=fields, allow_failure=True), "c": task(needs=needs)}),
    )
    story.complete("a", json_body(items))
    story.expand("each", json_body(items), len(items))
    return story


def run_instance(story: RunBuilder, index: int, output: Body = DONE, state: str = "passed") -> None:
    unit = f"each[{index}]"
    story.deliver(unit, "item", json_body(index), story.last["expanded", "each"])
    story.start(unit)
    story.finish(unit, output, status="ok" if state == "passed" else "error")
    story.end(unit, state)


@pytest.mark.requirement("LEDGER-SEMANTICS-014", "LEDGER-SEMANTICS-018")
def test_a_task_with_foreach_ends_when_its_instances_have(tmp_path: Path) -> None:
    story = listed(json_body([0, 1]), 2)
    run_instance(story, 1, json_body({"n": "b"}))
    run_instance(story, 0, json_body({"n": "a"}))
    ended = story.end("each")
    story.deliver("c", "all", json_body(["a", "b"]), ended)

    assert last_code(story, tmp_path) is None


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
def test_the_state_of_a_task_with_foreach_is_that_of_its_instances(
    tmp_path: Path, states: list[str | None], state: str, code: str | None
) -> None:
    story = listed(json_body([0, 1]), 2)
    for index, of_instance in enumerate(states):
        if of_instance:
            run_instance(story, index, json_body({"n": 1}), of_instance)

    story.end("each", state)

    assert last_code(story, tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
def test_a_task_with_foreach_that_was_not_expanded_may_be_skipped_and_not_pass(tmp_path: Path) -> None:
    plan = listed(json_body([]), 0).plan
    for state, code in (("skipped", None), ("passed", "L417")):
        story = RunBuilder(plan)
        story.end("each", state)
        assert last_code(story, tmp_path / state) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
def test_a_tolerated_instance_does_not_stand_in_the_way_and_gives_nothing(tmp_path: Path) -> None:
    story = tolerant([0, 1])
    run_instance(story, 0, DONE, "tolerated")
    run_instance(story, 1, json_body("b"))
    story.deliver("c", "all", json_body(["b"]), story.end("each"))

    assert last_code(story, tmp_path) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
@pytest.mark.parametrize(
    ("instances", "lawful"),
    [
        (["tolerated", "tolerated"], {"tolerated"}),
        (["tolerated", "passed"], {"passed"}),
        (["passed", "passed"], {"passed"}),
        (["tolerated", "stopped"], {"tolerated", "stopped", "refused", "cancelled"}),
        ([], {"passed", "skipped"}),
    ],
)
@pytest.mark.parametrize("state", STATES)
def test_a_task_is_tolerated_and_nothing_else_if_there_are_instances_and_all_are(
    tmp_path: Path, instances: list[str], lawful: set[str], state: str
) -> None:
    story = tolerant([*range(len(instances))])
    for index, of_instance in enumerate(instances):
        run_instance(story, index, json_body(index), of_instance)

    story.end("each", state)

    assert last_code(story, tmp_path) == (None if state in lawful else "L417")


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
@pytest.mark.parametrize(("state", "code"), [("tolerated", None), ("skipped", "L417")])
def test_a_task_is_tolerated_and_not_skipped_if_its_instances_were_before_an_attempt(
    tmp_path: Path, state: str, code: str | None
) -> None:
    story = tolerant([0])
    story.end("each[0]", "tolerated", "expects")

    story.end("each", state)

    assert last_code(story, tmp_path) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-014", "LEDGER-SEMANTICS-007")
def test_a_task_all_of_whose_instances_were_tolerated_hands_nothing_over(tmp_path: Path) -> None:
    story = tolerant([0])
    run_instance(story, 0, DONE, "tolerated")

    story.deliver("c", "all", json_body([]), story.end("each", "tolerated"))

    assert last_code(story, tmp_path) == "L404"
