"""How the end of one task affects the others."""

from typing import Any

import pytest

from forum_adapters.base import ErrorKind, Failure
from unit.runner.execute.small_runs import RUN, WORK, ManualRun, outputs, run

ORDER = {"needs": [{"task": "a", "edge": "order"}]}
DATA = {"needs": ["a"]}
NO = {"task": "z", "output": {"const": "no"}}
GATE = {"question": "Go?", "deadline": "1s"}
# Task fields that make `a` end in each state after `z` has passed.
ENDS: dict[str, dict[str, Any]] = {
    "passed": {},
    "tolerated": {"run": ["bad"], "allow_failure": True},
    "failed": {"run": ["bad"]},
    "refused": {"gate": GATE},
    "skipped": {"when": NO},
}


def after(end: str, on_failure: str) -> tuple[str, str]:
    """Return how two tasks after `a` end: one with a data edge, one with an order edge."""
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
def test_how_each_end_affects_downstream_tasks(end: str, on_failure: str, expected: tuple[str, str]) -> None:
    assert after(end, on_failure) == expected


CHAIN = {
    "z": RUN,
    "a": {**WORK, "needs": ["z"]},
    "b": {**WORK, "needs": ["a"]},
    "c": {**WORK, "needs": [{"task": "b", "edge": "order"}]},
}


@pytest.mark.requirement("RUN-FAIL-002")
def test_a_failure_blocks_even_order_edges_further_downstream() -> None:
    recorded = run(CHAIN, [{"task": "z", "error": {"kind": "auth"}}], policy={"on_failure": "skip-dependents"})

    assert recorded.ends == {
        "z": "failed/error",
        "a": "skipped/upstream",
        "b": "skipped/upstream",
        "c": "skipped/upstream",
    }


@pytest.mark.requirement("RUN-FAIL-002")
def test_a_false_condition_blocks_only_data_edges() -> None:
    tasks = {**CHAIN, "a": {**CHAIN["a"], "when": NO}}

    recorded = run(tasks, [{"output": "x"}])

    assert recorded.ends == {"z": "passed", "a": "skipped/condition", "b": "skipped/upstream", "c": "passed"}


@pytest.mark.requirement("RUN-FAIL-001")
def test_after_a_failure_nothing_starts_and_started_tasks_finish() -> None:
    tasks = {
        "a": {**WORK, "accept": [{"agent": "critic"}], "retry": {"attempts": 2}},
        "b": RUN,
        "c": {**WORK, "needs": [{"task": "a", "edge": "order"}]},
        "d": RUN,
    }
    manual = ManualRun(tasks, policy={"max_parallel": 2})
    manual.reply("b", "", failure=Failure(ErrorKind.AUTH))

    assert manual.recorded.ends == {"b": "failed/error", "d": "skipped/failure", "c": "skipped/failure"}
    manual.reply("a", "x")
    manual.reply("a", '{"verdict":"fail","reason":"bad"}')
    manual.reply("a", "y")
    manual.reply("a", '{"verdict":"pass","reason":"good"}')
    assert manual.recorded.ends["a"] == "passed"


@pytest.mark.requirement("RUN-FAIL-001")
def test_tasks_are_skipped_in_plan_order() -> None:
    tasks = {
        "m": RUN,
        "z": {**WORK, "needs": [{"task": "y", "edge": "order"}]},
        "n": {**WORK, "needs": [{"task": "m", "edge": "order"}]},
        "y": {**WORK, "needs": [{"task": "p", "edge": "order"}]},
        "p": RUN,
    }
    manual = ManualRun(tasks, policy={"dispatch": "waves"})
    manual.reply("m", "", failure=Failure(ErrorKind.AUTH))

    assert manual.recorded.ends == {
        "m": "failed/error",
        "n": "skipped/upstream",
        "y": "skipped/failure",
        "z": "skipped/upstream",
    }
    assert [entry.data["task"] for entry in manual.recorded.of_kind("task.ended")] == ["m", "n", "y", "z"]


@pytest.mark.requirement("RUN-FAIL-001")
@pytest.mark.parametrize("ended", [{"allow_failure": True}, {"when": NO, "needs": [{"task": "z", "edge": "order"}]}])
def test_a_skipped_task_is_skipped_by_upstream_only_if_it_lacks_data(ended: dict[str, Any]) -> None:
    waiting = [{"task": "long", "edge": "order"}]
    tasks = {
        "z": RUN,
        "a": {**RUN, **ended},
        "bad": RUN,
        "long": RUN,
        "by_data": {**WORK, "needs": ["a", *waiting]},
        "by_order": {**WORK, "needs": [*ORDER["needs"], *waiting]},
    }
    manual = ManualRun(tasks)
    manual.reply("z", "yes")
    if "a" in manual.open:
        manual.reply("a", failure=Failure(ErrorKind.AUTH))
    manual.reply("bad", failure=Failure(ErrorKind.AUTH))

    assert (manual.recorded.ends["by_data"], manual.recorded.ends["by_order"]) == (
        "skipped/upstream",
        "skipped/failure",
    )


@pytest.mark.requirement("RUN-FAIL-001")
def test_a_tolerated_task_does_not_stop_the_run() -> None:
    tasks = {"a": {**RUN, "allow_failure": True}, "b": {**WORK, **ORDER}}

    recorded = run(tasks, [{"task": "a", "error": {"kind": "auth"}}, {"output": "x"}])

    assert recorded.ends == {"a": "tolerated/error", "b": "passed"}
    assert recorded.status == "passed"


@pytest.mark.requirement("RUN-FAIL-001")
@pytest.mark.parametrize(("on_failure", "other"), [("stop", "skipped/upstream"), ("continue", "passed")])
def test_a_task_stopped_by_its_own_budget_counts_as_a_failure(on_failure: str, other: str) -> None:
    tasks = {"a": {**WORK, "budget": {"input_tokens": 1}}, "b": {**WORK, "needs": ["z"]}, "z": RUN}

    recorded = run(tasks, [{"output": "x"}], policy={"on_failure": on_failure, "max_parallel": 1})

    assert (recorded.ends["a"], recorded.ends["b"]) == ("stopped/budget", other)


@pytest.mark.requirement("RUN-FAIL-001", "RUN-BUDGET-004")
def test_an_exhausted_run_budget_stops_every_unstarted_task() -> None:
    tasks = {"a": WORK, "b": {**WORK, "needs": ["a"]}, "c": {**WORK, "needs": ["b"]}}

    recorded = run(
        tasks, outputs(a="x", b="x", c="x"), policy={"budget": {"input_tokens": 300}, "on_failure": "continue"}
    )

    assert recorded.ends == {"a": "passed", "b": "stopped/budget", "c": "stopped/budget"}
    assert recorded.only("budget.stopped").data == {
        "scope": "run",
        "amount": "input_tokens",
        "limit": 300,
        "used": 262,
        "needed": 415,
    }


@pytest.mark.requirement("RUN-SEAL-001")
def test_outputs_of_passed_tasks_are_recorded_by_name() -> None:
    tasks = {"a": RUN, "b": {**RUN, "output": True}, "c": RUN}
    answers = [{"task": "c", "error": {"kind": "auth"}}, {"task": "b", "output": {"n": [1]}}, {"output": "x"}]
    wanted = {"z": "a", "y": {"task": "b", "select": "/n"}, "x": "c"}

    recorded = run(tasks, answers, outputs=wanted)

    answers_given = [(entry.data, entry.bodies) for entry in recorded.of_kind("answer.given")]
    assert answers_given == [({"output": "y"}, {"value": b"[1]"}), ({"output": "z"}, {"value": b"x"})]
    assert recorded.kinds[-3:] == ["answer.given", "answer.given", "run.sealed"]
    assert recorded.status == "failed"


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
def test_the_worst_task_state_decides_the_run_status(tasks: str, status: str) -> None:
    known: dict[str, Any] = {
        "ok": RUN,
        "no": {**WORK, "gate": GATE},
        "bad": RUN,
        "dear": {**WORK, "budget": {"input_tokens": 1}},
    }
    answers = [{"task": "bad", "error": {"kind": "auth"}}, {"output": "x"}]

    recorded = run({name: known[name] for name in tasks.split()}, answers, policy={"on_failure": "continue"})

    assert recorded.status == status
