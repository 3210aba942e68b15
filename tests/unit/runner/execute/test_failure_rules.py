"""What the end of one task means for the others."""

from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from unit.runner.execute.small_runs import RUN, WORK, ByHand, outputs, run

ORDER = {"needs": [{"task": "a", "edge": "order"}]}
DATA = {"needs": ["a"]}
NO = {"task": "z", "output": {"const": "no"}}
GATE = {"question": "Go?", "deadline": "1s"}
# How `a` comes to each of its ends, after `z` has passed.
ENDS: dict[str, dict[str, Any]] = {
    "passed": {},
    "tolerated": {"run": ["bad"], "allow_failure": True},
    "failed": {"run": ["bad"]},
    "refused": {"gate": GATE},
    "skipped": {"when": NO},
}


def after(end: str, on_failure: str) -> tuple[str, str]:
    """How tasks end that come after `a`: one by data, one by order."""
    first = {**RUN, "needs": [{"task": "z", "edge": "order"}], **ENDS[end]}
    tasks = {"z": RUN, "a": first, "by_data": {**WORK, **DATA}, "by_order": {**WORK, **ORDER}}
    answers = [{"contains": "bad", "error": {"kind": "auth"}}, {"output": "x"}]
    ends = run(tasks, answers, policy={"on_failure": on_failure}).ends
    assert ends["a"].partition("/")[0] == end
    return ends["by_data"], ends["by_order"]


@pytest.mark.requirement("RUN-FAIL-002", "RUN-STATE-001")
@pytest.mark.parametrize(
    ("end", "on_failure", "expected"),
    [
        ("passed", "stop", ("passed", "passed")),
        ("tolerated", "stop", ("skipped/upstream", "passed")),
        ("skipped", "stop", ("skipped/upstream", "passed")),
        ("refused", "stop", ("skipped/upstream", "skipped/upstream")),
        ("refused", "continue", ("skipped/upstream", "skipped/upstream")),
        ("failed", "stop", ("skipped/upstream", "skipped/upstream")),
        ("failed", "skip-dependents", ("skipped/upstream", "skipped/upstream")),
        ("failed", "continue", ("skipped/upstream", "passed")),
    ],
)
def test_what_an_end_means_for_those_after_it(end: str, on_failure: str, expected: tuple[str, str]) -> None:
    assert after(end, on_failure) == expected


CHAIN = {
    "z": RUN,
    "a": {**WORK, "needs": ["z"]},
    "b": {**WORK, "needs": ["a"]},
    "c": {**WORK, "needs": [{"task": "b", "edge": "order"}]},
}


@pytest.mark.requirement("RUN-FAIL-002")
def test_behind_a_failure_even_order_is_blocked() -> None:
    story = run(CHAIN, [{"task": "z", "error": {"kind": "auth"}}], policy={"on_failure": "skip-dependents"})

    assert story.ends == {
        "z": "failed/error",
        "a": "skipped/upstream",
        "b": "skipped/upstream",
        "c": "skipped/upstream",
    }


@pytest.mark.requirement("RUN-FAIL-002")
def test_behind_a_condition_only_data_is_missing() -> None:
    tasks = {**CHAIN, "a": {**CHAIN["a"], "when": NO}}

    story = run(tasks, [{"output": "x"}])

    assert story.ends == {"z": "passed", "a": "skipped/condition", "b": "skipped/upstream", "c": "passed"}


@pytest.mark.requirement("RUN-FAIL-001")
def test_after_a_failure_nothing_begins_and_what_has_begun_goes_on_to_its_end() -> None:
    tasks = {
        "a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}},
        "b": RUN,
        "c": {**WORK, "needs": [{"task": "a", "edge": "order"}]},
        "d": RUN,
    }
    hand = ByHand(tasks, policy={"max_parallel": 2})
    hand.reply("b", "", failure=Failure(ErrorKind.AUTH))

    assert hand.story.ends == {"b": "failed/error", "d": "skipped/failure", "c": "skipped/failure"}
    hand.reply("a", "x")
    hand.reply("a", '{"verdict":"fail","reason":"bad"}')
    hand.reply("a", "y")
    hand.reply("a", '{"verdict":"pass","reason":"good"}')
    assert hand.story.ends["a"] == "passed"


@pytest.mark.requirement("RUN-FAIL-001")
def test_tasks_are_swept_in_plan_order() -> None:
    tasks = {
        "m": RUN,
        "z": {**WORK, "needs": [{"task": "y", "edge": "order"}]},
        "n": {**WORK, "needs": [{"task": "m", "edge": "order"}]},
        "y": {**WORK, "needs": [{"task": "p", "edge": "order"}]},
        "p": RUN,
    }
    hand = ByHand(tasks, policy={"dispatch": "waves"})
    hand.reply("m", "", failure=Failure(ErrorKind.AUTH))

    assert hand.story.ends == {
        "m": "failed/error",
        "n": "skipped/upstream",
        "y": "skipped/failure",
        "z": "skipped/upstream",
    }
    assert [entry.data["task"] for entry in hand.story.of("task.ended")] == ["m", "n", "y", "z"]


@pytest.mark.requirement("RUN-FAIL-001")
@pytest.mark.parametrize("ended", [{"allow_failure": True}, {"when": NO, "needs": [{"task": "z", "edge": "order"}]}])
def test_what_is_swept_is_cut_off_by_missing_data_and_not_by_a_task_that_blocks_nobody(ended: dict[str, Any]) -> None:
    waiting = [{"task": "long", "edge": "order"}]
    tasks = {
        "z": RUN,
        "a": {**RUN, **ended},
        "bad": RUN,
        "long": RUN,
        "by_data": {**WORK, "needs": ["a", *waiting]},
        "by_order": {**WORK, "needs": [*ORDER["needs"], *waiting]},
    }
    hand = ByHand(tasks)
    hand.reply("z", "yes")
    if "a" in hand.open:
        hand.reply("a", failure=Failure(ErrorKind.AUTH))
    hand.reply("bad", failure=Failure(ErrorKind.AUTH))

    assert (hand.story.ends["by_data"], hand.story.ends["by_order"]) == ("skipped/upstream", "skipped/failure")


@pytest.mark.requirement("RUN-FAIL-001")
def test_a_tolerated_task_stops_nobody() -> None:
    tasks = {"a": {**RUN, "allow_failure": True}, "b": {**WORK, **ORDER}}

    story = run(tasks, [{"task": "a", "error": {"kind": "auth"}}, {"output": "x"}])

    assert story.ends == {"a": "tolerated/error", "b": "passed"}
    assert story.status == "passed"


@pytest.mark.requirement("RUN-FAIL-001")
@pytest.mark.parametrize(("on_failure", "other"), [("stop", "skipped/upstream"), ("continue", "passed")])
def test_a_task_that_its_own_budget_stopped_counts_as_a_failure(on_failure: str, other: str) -> None:
    tasks = {"a": {**WORK, "budget": {"input_tokens": 1}}, "b": {**WORK, "needs": ["z"]}, "z": RUN}

    story = run(tasks, [{"output": "x"}], policy={"on_failure": on_failure, "max_parallel": 1})

    assert (story.ends["a"], story.ends["b"]) == ("stopped/budget", other)


@pytest.mark.requirement("RUN-FAIL-001", "RUN-BUDGET-004")
def test_a_budget_of_the_run_stops_all_that_has_not_begun() -> None:
    tasks = {"a": WORK, "b": {**WORK, "needs": ["a"]}, "c": {**WORK, "needs": ["b"]}}

    story = run(tasks, outputs(a="x", b="x", c="x"), policy={"budget": {"input_tokens": 300}, "on_failure": "continue"})

    assert story.ends == {"a": "passed", "b": "stopped/budget", "c": "stopped/budget"}
    assert story.one("budget.stopped").data == {
        "scope": "run",
        "amount": "input_tokens",
        "limit": 300,
        "used": 262,
        "needed": 415,
    }


@pytest.mark.requirement("RUN-SEAL-001")
def test_answers_are_given_by_name_for_all_that_passed() -> None:
    tasks = {"a": RUN, "b": {**RUN, "output": True}, "c": RUN}
    answers = [{"task": "c", "error": {"kind": "auth"}}, {"task": "b", "output": {"n": [1]}}, {"output": "x"}]
    wanted = {"z": "a", "y": {"task": "b", "select": "/n"}, "x": "c"}

    story = run(tasks, answers, outputs=wanted)

    given = [(entry.data, entry.bodies) for entry in story.of("answer.given")]
    assert given == [({"output": "y"}, {"value": b"[1]"}), ({"output": "z"}, {"value": b"x"})]
    assert story.kinds[-3:] == ["answer.given", "answer.given", "run.sealed"]
    assert story.status == "failed"


@pytest.mark.requirement("RUN-SEAL-002")
@pytest.mark.parametrize(
    ("tasks", "status"),
    [
        ("ok", "passed"),
        ("ok no", "refused"),
        ("ok no bad", "failed"),
        ("ok no bad dear", "stopped"),
    ],
)
def test_the_gravest_state_names_the_run(tasks: str, status: str) -> None:
    known: dict[str, Any] = {
        "ok": RUN,
        "no": {**WORK, "gate": GATE},
        "bad": RUN,
        "dear": {**WORK, "budget": {"input_tokens": 1}},
    }
    answers = [{"task": "bad", "error": {"kind": "auth"}}, {"output": "x"}]

    story = run({name: known[name] for name in tasks.split()}, answers, policy={"on_failure": "continue"})

    assert story.status == status
