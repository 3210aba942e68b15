"""Reusing results of earlier runs, running parts of a plan, and exit codes."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from forum_runner.api import RedactionRequest, RunRequest, TaskSelection, Workspace
from forum_runner.app.run_handle import EndedRun
from forum_runner.app.run_preparation import PreparedRun, prepare
from forum_runner.app.verification import redact_body
from forum_runner.app.workflows import Compiled
from forum_runner.canonical import canonical, digest
from forum_runner.errors import UsageError
from forum_runner.execute.machine import Outcome, Reusable, Unit
from forum_runner.execute.reuse import DirectoryCache, EarlierRun, ReuseComparison, RunCache
from forum_runner.ledger.body import JSON, TEXT, Body
from forum_runner.ledger.run_reader import read_entries
from forum_runner.ledger.source import ledger_at
from forum_runner.report import Report
from unit.runner.execute.small_runs import RUN, WORK, outputs, plan_of, run, run_in, wave_plan_of

TASKS: dict[str, Any] = {"a": RUN, "b": {**WORK, "needs": ["a"]}, "c": {**WORK, "needs": ["b"]}}
OTHER_RUN = "01936b2e-4d10-7a3c-9f00-2b8e6c1d4e5f"


@pytest.mark.requirement("RUN-REUSE-001")
def test_a_reused_result_replaces_an_attempt() -> None:
    found = Reusable("cache", OTHER_RUN, 7, Body(b"old", TEXT))

    recorded = run({"a": RUN, "b": {**WORK, "needs": ["a"]}}, outputs(a="one"), reusable={"b": found})

    reused = recorded.only("task.reused")
    assert {name: value for name, value in reused.data.items() if name != "fingerprint"} == {
        "task": "b",
        "source": "cache",
        "run": OTHER_RUN,
        "seq": 7,
    }
    assert reused.bodies == {"output": b"old"}
    assert recorded.cause(reused) == ["task.ended a", "edge.delivered b"]
    assert recorded.only("run.sealed").data["totals"]["calls"] == 1


@pytest.mark.requirement("RUN-REUSE-001")
def test_a_result_without_the_value_a_plan_output_selects_is_not_reused() -> None:
    found = Reusable("cache", OTHER_RUN, 7, Body(b"{}", JSON))
    plan_outputs = {"o": {"task": "a", "select": "/n"}}

    recorded = run({"a": {**RUN, "output": True}}, outputs(a={"n": 1}), reusable={"a": found}, outputs=plan_outputs)

    assert recorded.kinds == ["task.started", "task.finished", "task.ended", "answer.given", "run.sealed"]


def reused(base: Path, tasks: dict[str, Any], answers: list[dict[str, Any]]) -> list[str]:
    """Return the units that reuse results of a base run."""
    with closing(EarlierRun(ledger_at(base))) as earlier:
        recorded = run(tasks, answers, find_reusable=earlier.find)
    assert {entry.data["source"] for entry in recorded.of_kind("task.reused")} == {"from"}
    return [entry.data["task"] for entry in recorded.of_kind("task.reused")]


ANSWERS = outputs(a="one", b="two", c="three")


@pytest.mark.requirement("RUN-REUSE-003")
def test_unchanged_tasks_that_passed_in_the_base_run_are_reused(tmp_path: Path) -> None:
    run_in(tmp_path / "run", TASKS, ANSWERS)

    assert reused(tmp_path / "run", TASKS, []) == ["a", "b", "c"]


@pytest.mark.requirement("RUN-REUSE-003")
def test_changed_tasks_and_their_dependents_run_again(tmp_path: Path) -> None:
    run_in(tmp_path / "run", TASKS, ANSWERS)
    changed = {**TASKS, "b": {**TASKS["b"], "instruction": "Write better."}}

    assert reused(tmp_path / "run", changed, outputs(b="other", c="three")) == ["a"]


@pytest.mark.requirement("RUN-REUSE-003")
def test_tasks_that_did_not_pass_run_again(tmp_path: Path) -> None:
    run_in(tmp_path / "run", TASKS, [*outputs(a="one"), {"task": "b", "error": {"kind": "auth"}}])

    assert reused(tmp_path / "run", TASKS, ANSWERS) == ["a"]


@pytest.mark.requirement("RUN-REUSE-003")
@pytest.mark.parametrize(("task", "is_found"), [({}, True), ({"sensitive": True}, False)])
def test_the_cache_returns_no_salted_output(tmp_path: Path, task: dict[str, Any], is_found: bool) -> None:
    finished = run_in(tmp_path / "run", {"a": {**WORK, "cache": True, **task}}, ANSWERS)
    with closing(EarlierRun(ledger_at(tmp_path / "run"))) as earlier:
        fingerprint = earlier.results["a"].fingerprint
    cache = DirectoryCache(tmp_path / "cache")
    cache.store(fingerprint, finished.run, "a", tmp_path / "run")

    with closing(cache):
        found = cache.find(fingerprint)
        assert (found is not None and (found.source, found.output.data) == ("cache", b"one")) is is_found
        assert cache.find("0" * 64) is None


@pytest.mark.requirement("RUN-REUSE-003")
def test_a_run_used_as_a_cache_returns_its_earliest_cacheable_result(tmp_path: Path) -> None:
    cached = {**WORK, "cache": True}
    salted = {**cached, "instruction": "Keep a secret.", "sensitive": True}
    tasks = {"a": cached, "b": cached, "c": {**WORK, "instruction": "Not kept."}, "d": salted}
    finished = run_in(tmp_path / "run", tasks, [{"output": "one"}])
    with closing(EarlierRun(ledger_at(tmp_path / "run"))) as earlier:
        results = earlier.results

    with closing(RunCache(tmp_path / "run")) as cache:
        found = cache.find(results["a"].fingerprint)
        uncacheable = [cache.find(results[name].fingerprint) for name in "cd"]
        assert found is not None
        assert (found.source, found.run, found.seq) == ("cache", finished.run, results["a"].seq)
        assert found.output.data == b"one"
        assert uncacheable == [None, None]


def redact(directory: Path, kind: str, body: str, task: str | None = None) -> None:
    """Redact a body of the first entry of a kind, optionally of one unit."""
    found = next(entry for entry in read_entries(directory) if entry.kind == kind and task in (None, entry.task))
    redact_body(ledger_at(directory), RedactionRequest("run", found.seq, body, "it was private", "ann"))


@pytest.mark.requirement("RUN-REUSE-001")
def test_a_redacted_result_of_the_base_run_is_not_reused(tmp_path: Path) -> None:
    run_in(tmp_path / "run", TASKS, ANSWERS)
    redact(tmp_path / "run", "task.finished", "output", "b")

    assert reused(tmp_path / "run", TASKS, ANSWERS) == ["a", "c"]


@pytest.mark.requirement("RUN-REUSE-001")
def test_a_redacted_result_in_the_cache_is_not_reused(tmp_path: Path) -> None:
    cached = {**WORK, "cache": True}
    finished = run_in(tmp_path / "run", {"a": cached, "b": cached}, ANSWERS)
    redact(tmp_path / "run", "task.finished", "output", "a")
    with closing(EarlierRun(ledger_at(tmp_path / "run"))) as earlier:
        fingerprint = earlier.results["a"].fingerprint
        seq = earlier.results["b"].seq
    cache = DirectoryCache(tmp_path / "cache")
    cache.store(fingerprint, finished.run, "a", tmp_path / "run")

    with closing(cache), closing(RunCache(tmp_path / "run")) as run_cache:
        assert (cache.find(fingerprint), cache.has_redacted(fingerprint)) == (None, True)
        assert not cache.has_redacted("0" * 64)
        # Both tasks are the same work, so the second result of the run replaces the first.
        other = run_cache.find(fingerprint)
        assert other is not None
        assert (other.seq, other.output.data) == (seq, b"two")
        assert run_cache.has_redacted(fingerprint)


@pytest.mark.requirement("RUN-PART-001")
def test_the_reason_for_not_reusing_names_the_redaction(tmp_path: Path) -> None:
    each = {**WORK, "foreach": {"task": "a", "as": "item", "max": 2}}
    tasks = {"a": {**RUN, "output": {"type": "array"}}, "b": WORK, "each": each}
    answers = [*outputs(a=[1, 2], b="two"), {"task": "each", "output": "three"}]
    run_in(tmp_path / "run", tasks, answers)
    redact(tmp_path / "run", "task.finished", "output", "b")
    redact(tmp_path / "run", "task.finished", "output", "each[1]")

    with closing(EarlierRun(ledger_at(tmp_path / "run"))) as earlier:
        plan = wave_plan_of(tasks)
        comparison = ReuseComparison(earlier, plan)
        unit, fingerprint = Unit("b", plan.tasks["b"]), earlier.results["b"].fingerprint
        reasons = [comparison.reason_against(task) for task in tasks]
        reason = comparison.reason_to_run(unit, fingerprint)

    assert reasons == [None, "its output was redacted", "its output was redacted"]
    assert reason == "its output was redacted"


def test_nothing_is_reused_from_a_run_whose_wave_plan_was_redacted(tmp_path: Path) -> None:
    run_in(tmp_path / "run", {"a": WORK}, ANSWERS)
    redact(tmp_path / "run", "run.opened", "wave_plan")

    with pytest.raises(UsageError, match=r"the wave plan of '.*' was redacted: nothing is reused from it"):
        EarlierRun(ledger_at(tmp_path / "run"))


def partial_plan(tasks: dict[str, Any], selected: TaskSelection, **parts: Any) -> PreparedRun:
    plan = plan_of(tasks, **parts)
    compiled = Compiled(Report((), {}), (), canonical(plan))
    return prepare(compiled, RunRequest("w", tasks=selected), Workspace(Path()))


@pytest.mark.requirement("RUN-PART-001")
@pytest.mark.parametrize(
    ("selected", "tasks", "to_reuse"),
    [
        (TaskSelection(only=("b",)), "ab", "a"),
        (TaskSelection(start=("b",)), "abc", "a"),
        (TaskSelection(until=("b",)), "ab", ""),
        (TaskSelection(start=("b",), until=("b",)), "ab", "a"),
    ],
)
def test_a_partial_plan_contains_its_dependencies(selected: TaskSelection, tasks: str, to_reuse: str) -> None:
    prepared = partial_plan(TASKS, selected)

    assert "".join(sorted(prepared.plan.tasks)) == tasks
    assert prepared.to_reuse == frozenset(to_reuse)


@pytest.mark.requirement("RUN-PART-001")
def test_a_partial_plan_has_its_own_digest() -> None:
    prepared = partial_plan(TASKS, TaskSelection(until=("a",)), outputs={"x": "a", "y": "c"})

    plan = json.loads(prepared.data)
    assert (plan["waves"], list(plan["outputs"])) == ([["a"]], ["x"])
    rest = {name: value for name, value in plan.items() if name not in ("bundle", "digest")}
    assert plan["digest"] == digest(canonical(rest))
    assert prepared.data == canonical(plan)


@pytest.mark.requirement("RUN-PART-001")
def test_the_reason_for_not_reusing_names_the_state_in_the_base_run(tmp_path: Path) -> None:
    run_in(tmp_path / "one", TASKS, [{"task": "a", "error": {"kind": "auth"}}])

    with closing(EarlierRun(ledger_at(tmp_path / "one"))) as earlier:
        reason = ReuseComparison(earlier, wave_plan_of(TASKS)).reason_against("a")

    assert reason == "its state in that run is failed"


@pytest.mark.requirement("RUN-EXIT-001")
@pytest.mark.parametrize(
    ("outcome", "exit_code"),
    [
        (Outcome("passed"), 0),
        (Outcome("failed"), 1),
        (Outcome("stopped"), 4),
        (Outcome("paused", "gate"), 5),
        (Outcome("refused"), 6),
        (Outcome("paused", "interrupted"), 130),
        (Outcome("cancelled"), 130),
    ],
)
def test_the_exit_code_reflects_the_outcome_of_the_run(outcome: Outcome, exit_code: int) -> None:
    assert EndedRun(Path(), OTHER_RUN, outcome).exit_code == exit_code
