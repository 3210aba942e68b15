"""Level 4: the wave plan, names, waves, pauses and the seal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body, canonical, json_body
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import CHEAP, data_edge, task, wave_plan, with_digest
from unit.conformance.judged_run import draft_and_review, findings, judge_directory, statuses

Change = Callable[[dict[str, Any]], Any]


def level_4_findings(builder: RunBuilder, directory: Path) -> list[tuple[str, int | None]]:
    """Return the findings of level 4. The only other finding may be the missing seal."""
    report = judge_directory(builder.write(directory))
    others = [finding for finding in findings(report) if finding[0][1] != "4"]
    assert others in ([], [("L501", None)])
    return [finding for finding in findings(report) if finding[0][1] == "4"]


@pytest.mark.requirement("LEDGER-SEMANTICS-001")
def test_level_4_stops_at_its_first_finding(tmp_path: Path) -> None:
    builder = RunBuilder(wave_plan({"a": task()}))
    first = builder.start("a", attempt=2)
    builder.start("unknown")

    assert level_4_findings(builder, tmp_path) == [("L409", first)]


def changed_plan(change: Change) -> dict[str, Any]:
    edges = [data_edge({"task": "a"}, "x"), {"edge": "order", "task": "a"}]
    plan = wave_plan({"a": task(), "b": task(needs=edges, accept=[{"agent": "critic"}])}, outputs={"o": {"task": "b"}})
    change(plan)
    return with_digest(plan)


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan.update(kind="Plan"),
        lambda plan: plan["policy"].pop("retry"),
        lambda plan: plan["waves"].pop(),
        lambda plan: plan["waves"].append(["a"]),
        lambda plan: plan["waves"].append(["c"]),
        lambda plan: plan.update(waves=[["b"], ["a"]]),
        lambda plan: plan.update(waves=[["a", "b"]]),
        lambda plan: plan["tasks"]["a"].update(agent="unknown"),
        lambda plan: plan["tasks"]["a"].update(accept=[{"agent": "unknown"}]),
        lambda plan: plan["tasks"]["a"].update(ladder=[{"tier": "cheap", "adapter": "none"}]),
        lambda plan: plan["agents"]["worker"]["adapters"].update(frontier="none"),
        lambda plan: plan["tasks"]["b"].update(needs=[{"edge": "order", "task": "c"}]),
        lambda plan: plan["tasks"]["b"].update(needs=[data_edge({"list": [{"each": "c"}]}, "x")]),
        lambda plan: plan["tasks"]["a"].update(when=[{"from": {"task": "b"}, "matches": "0" * 64}]),
        lambda plan: plan["tasks"]["a"].update(foreach={"from": {"task": "b"}, "as": "i", "max": 1}),
        lambda plan: plan["outputs"].update(o={"object": {"x": {"task": "c"}}}),
        lambda plan: plan["tasks"]["a"].pop("agent"),
        lambda plan: plan["tasks"]["a"].pop("ladder"),
        lambda plan: plan["tasks"]["a"].update(lane="auto"),
        lambda plan: [plan["tasks"]["a"].pop(name) for name in ("agent", "ladder")],
    ],
)
def test_a_wave_plan_must_be_consistent(tmp_path: Path, change: Change) -> None:
    assert level_4_findings(RunBuilder(changed_plan(lambda _: None)), tmp_path / "right") == []
    assert level_4_findings(RunBuilder(changed_plan(change)), tmp_path / "wrong") == [("L401", 0)]


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
def test_a_task_without_an_agent_has_a_lane(tmp_path: Path) -> None:
    assert level_4_findings(RunBuilder(wave_plan({"a": {"lane": "auto", "escalate": ["capable"]}})), tmp_path) == []


def with_value(place: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return a plan with the value in this place. `one` is a task without foreach, `many` a task with foreach."""
    fields: dict[str, dict[str, Any]] = {
        "edge": {"needs": [data_edge(value, "x")]},
        "condition": {"when": [{"from": value, "matches": "0" * 64}]},
        "foreach": {"foreach": {"from": value, "as": "i", "max": 1}},
        "output": {},
    }
    many = task(foreach={"from": {"task": "one"}, "as": "item", "max": 1})
    tasks = {"one": task(), "many": many, "consumer": task(**fields[place])}
    return wave_plan(tasks, outputs={"o": value} if place == "output" else {})


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
@pytest.mark.parametrize("place", ["edge", "condition", "foreach", "output"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"task": "one"}, []),
        ({"each": "many"}, []),
        ({"list": [{"object": {"x": {"each": "many"}}}, {"task": "one"}]}, []),
        ({"each": "one"}, [("L401", 0)]),
        ({"task": "many"}, [("L401", 0)]),
        ({"list": [{"task": "one"}, {"object": {"x": {"each": "one"}}}]}, [("L401", 0)]),
    ],
)
def test_each_refers_to_a_task_with_foreach_and_task_to_one_without(
    tmp_path: Path, place: str, value: dict[str, Any], expected: list[tuple[str, int]]
) -> None:
    assert level_4_findings(RunBuilder(with_value(place, value)), tmp_path) == expected


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
def test_an_order_edge_may_refer_to_a_task_with_or_without_foreach(tmp_path: Path) -> None:
    edge = {"edge": "order", "task": "many"}
    many = task(foreach={"from": {"task": "one"}, "as": "item", "max": 1})

    assert (
        level_4_findings(RunBuilder(wave_plan({"one": task(), "many": many, "after": task(needs=[edge])})), tmp_path)
        == []
    )


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
def test_the_wave_plan_must_match_the_first_entry(tmp_path: Path) -> None:
    plan = wave_plan({"a": task()})
    other = wave_plan({"b": task()})

    assert level_4_findings(RunBuilder(plan, wave_plan="f" * 64), tmp_path / "a") == [("L401", 0)]
    assert level_4_findings(RunBuilder(plan, bundle="f" * 64), tmp_path / "b") == [("L401", 0)]
    assert level_4_findings(RunBuilder(plan, Body(canonical(other), "application/json")), tmp_path / "c") == [
        ("L401", 0)
    ]
    assert level_4_findings(RunBuilder({**plan, "digest": "f" * 64}), tmp_path / "d") == [("L401", 0)]
    assert level_4_findings(RunBuilder(plan, Body(canonical(plan) + b"\n", "application/json")), tmp_path / "e") == [
        ("L401", 0)
    ]
    assert level_4_findings(RunBuilder(plan, Body(b"[" * 100_000, "application/json")), tmp_path / "f") == [("L401", 0)]


@pytest.mark.requirement("LEDGER-KIND-001")
def test_a_ledger_without_a_plan_is_not_checked_at_level_4(tmp_path: Path) -> None:
    builder = draft_and_review()
    for entry in builder.entries:
        entry["kind"] = entry["kind"] if entry["kind"].startswith("run.") else "x-note"
    builder.entries[0]["bodies"] = {}
    builder.bodies.pop(builder.plan_body.digest)
    for name in ("wave_plan", "bundle"):
        builder.entries[0]["data"].pop(name)

    report = judge_directory(builder.write(tmp_path))

    assert findings(report) == []
    assert statuses(report) == ["ok", "ok", "ok", "not checked", "ok"]


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("context.cut", {"task": "unknown", "as": "x", "bytes": 2, "kept_bytes": 1}),
        ("context.cut", {"task": "b", "as": "y", "bytes": 2, "kept_bytes": 1}),
        ("context.cut", {"task": "each[0]", "as": "item", "bytes": 2, "kept_bytes": 1}),
        ("budget.exceeded", {"task": "each", "attempt": 1, "amount": "micro_usd", "reserved": 1, "used": 2}),
        ("task.ended", {"task": "unknown", "state": "skipped", "reason": "upstream"}),
        ("task.ended", {"task": "each[0]", "state": "skipped", "reason": "upstream"}),
        ("route.decided", {"task": "a", "agent": "unknown", "by": "only"}),
        ("verdict.lost", {"task": "a", "attempt": 1, "check": 0}),
        ("escalation.raised", {"task": "a[0]", "from": "cheap", "to": "capable"}),
    ],
)
def test_an_entry_refers_only_to_parts_of_the_plan(tmp_path: Path, kind: str, data: dict[str, Any]) -> None:
    foreach = {"from": {"task": "a"}, "as": "item", "max": 3}
    plan = wave_plan({"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")]), "each": task(foreach=foreach)})
    builder = RunBuilder(plan)
    builder.add("context.cut", {"task": "b", "as": "x", "bytes": 2, "kept_bytes": 1})

    seq = builder.add(kind, data)

    assert level_4_findings(builder, tmp_path) == [("L402", seq)]


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
def test_only_a_task_with_foreach_is_expanded_and_only_an_output_of_the_plan_is_answered(tmp_path: Path) -> None:
    builder = RunBuilder(wave_plan({"a": task()}))
    assert last_level_4_code(builder, tmp_path / "a", lambda: builder.expand("a", Body(b"[]"), 0)) == "L402"

    other = RunBuilder(wave_plan({"a": task()}))
    assert last_level_4_code(other, tmp_path / "b", lambda: other.answer("o", Body(b"x"))) == "L402"


def last_level_4_code(builder: RunBuilder, directory: Path, last: Callable[[], int]) -> str | None:
    """Return the code of the finding for the entry that `last` adds. Earlier entries must have none."""
    seq = last()
    level_findings = level_4_findings(builder, directory)
    assert [bad_seq for _, bad_seq in level_findings] in ([], [seq])
    return level_findings[0][0] if level_findings else None


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
def test_few_entries_are_allowed_while_a_run_is_paused(tmp_path: Path) -> None:
    gate = {"question": ["go?"], "on_deadline": "reject"}
    builder = RunBuilder(wave_plan({"a": task(gate=gate), "b": task()}))
    builder.open_gate("a")
    builder.pause()
    builder.add("x-note")
    builder.decide("a")
    assert level_4_findings(builder, tmp_path / "paused") == []

    assert last_level_4_code(builder, tmp_path / "started", lambda: builder.start("b")) == "L424"


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
def test_a_run_is_paused_only_if_no_call_is_open(tmp_path: Path) -> None:
    builder = RunBuilder(wave_plan({"a": task()}))
    builder.start("a")

    assert last_level_4_code(builder, tmp_path, builder.pause) == "L424"


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
def test_orphaned_calls_are_lost_before_a_call_starts_and_cannot_finish(tmp_path: Path) -> None:
    def orphaned() -> RunBuilder:
        builder = RunBuilder(wave_plan({"a": task(), "b": task()}))
        builder.start("a")
        builder.resume()
        return builder

    started, finished, lost = orphaned(), orphaned(), orphaned()
    assert last_level_4_code(started, tmp_path / "started", lambda: started.start("b")) == "L424"
    assert last_level_4_code(finished, tmp_path / "finished", lambda: finished.finish("a")) == "L408"
    lost.lose("a")
    assert last_level_4_code(lost, tmp_path / "lost", lambda: lost.start("b")) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-004")
def test_a_wave_is_opened_after_all_earlier_waves_have_ended(tmp_path: Path) -> None:
    plan = wave_plan({"a": task(), "b": task()}, dispatch="waves")
    builder = RunBuilder(plan)
    builder.open_wave(0)
    builder.complete("a")
    builder.open_wave(1)
    builder.complete("b")
    assert level_4_findings(builder, tmp_path / "right") == []

    assert last_level_4_code(builder, tmp_path / "beyond", lambda: builder.open_wave(2)) == "L405"
    early = RunBuilder(plan)
    early.open_wave(0)
    assert last_level_4_code(early, tmp_path / "early", lambda: early.open_wave(1)) == "L405"
    skipping = RunBuilder(plan)
    assert last_level_4_code(skipping, tmp_path / "skipping", lambda: skipping.open_wave(1)) == "L405"
    eager = RunBuilder(wave_plan({"a": task()}))
    assert last_level_4_code(eager, tmp_path / "eager", lambda: eager.open_wave(0)) == "L405"


def test_x_entries_are_not_checked(tmp_path: Path) -> None:
    builder = RunBuilder(wave_plan({"a": task()}))
    builder.add("x-note", {"task": "unknown", "output": 3})

    assert level_4_findings(builder, tmp_path) == []


def finished_attempts() -> RunBuilder:
    builder = RunBuilder(wave_plan({"a": task(), "b": task(allow_failure=True)}))
    reserved = {"input_tokens": 5, "output_tokens": 6, "micro_usd": 7, "output_bytes": 8}
    builder.start("a", reserved=reserved)
    builder.finish("a", input_tokens=4, cached_input_tokens=2, wall_ms=90)
    builder.end("a")
    builder.start("b", reserved=reserved)
    builder.lose("b")
    builder.start("b", attempt=2)
    builder.finish("b", attempt=2, status="error")
    return builder


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_a_seal_counts_states_and_sums_usage(tmp_path: Path) -> None:
    builder = finished_attempts()
    builder.end("b", "tolerated")
    seq = builder.seal()

    assert level_4_findings(builder, tmp_path) == []
    assert builder.entries[seq]["data"]["totals"] == {
        "calls": 3,
        "input_tokens": 9,
        "cached_input_tokens": 2,
        "output_tokens": 6,
        "micro_usd": 7,
        "output_bytes": 8,
        "wall_ms": 90,
    }


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_a_seal_must_agree_with_the_entries(tmp_path: Path) -> None:
    early = finished_attempts()
    assert last_level_4_code(early, tmp_path / "early", early.seal) == "L423"

    counted = finished_attempts()
    counted.end("b", "tolerated")
    counts = {**dict.fromkeys(("failed", "tolerated", "skipped", "stopped", "refused", "cancelled"), 0), "passed": 2}
    assert last_level_4_code(counted, tmp_path / "counts", lambda: counted.seal(counts=counts)) == "L420"

    summed = finished_attempts()
    summed.end("b", "tolerated")
    summed.totals["wall_ms"] += 1
    assert last_level_4_code(summed, tmp_path / "totals", summed.seal) == "L421"


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
@pytest.mark.parametrize(
    ("state", "status", "code"),
    [
        ("passed", "passed", None),
        ("passed", "failed", "L422"),
        ("skipped", "passed", None),
        ("failed", "failed", None),
        ("failed", "passed", "L422"),
        ("failed", "stopped", "L422"),
        ("stopped", "stopped", None),
        ("refused", "refused", None),
        ("cancelled", "cancelled", None),
        ("cancelled", "passed", "L422"),
    ],
)
def test_the_status_follows_from_the_states_of_the_tasks(
    tmp_path: Path, state: str, status: str, code: str | None
) -> None:
    builder = RunBuilder(wave_plan({"a": task()}))
    if state == "passed":
        builder.complete("a")
    else:
        builder.end("a", state)

    assert last_level_4_code(builder, tmp_path, lambda: builder.seal(status)) == code


OUTPUTS: dict[str, Any] = {"one": {"task": "a"}, "both": {"list": [{"task": "a"}, {"task": "b"}]}, "none": {"list": []}}


def run_with_outputs(state: str, *answers: str, **fields: Any) -> RunBuilder:
    """Build a run in which `a` passes, `b` ends in the given state, and the named outputs are answered."""
    builder = RunBuilder(wave_plan({"a": task(), "b": task(**fields)}, outputs=OUTPUTS))
    text = Body(b"text")
    first = builder.complete("a", text)
    last = builder.complete("b", text) if state == "passed" else builder.end("b", state)
    values = {"one": (text, first), "both": (json_body(["text", "text"]), last), "none": (json_body([]), 0)}
    for name in answers:
        builder.answer(name, values[name][0], values[name][1])
    return builder


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (["one", "both", "none"], None),
        (["both", "none"], "L425"),
        (["one", "none"], "L425"),
        (["one", "both"], "L425"),
    ],
)
def test_a_run_that_passed_has_all_its_answers(tmp_path: Path, answers: list[str], code: str | None) -> None:
    builder = run_with_outputs("passed", *answers)

    assert last_level_4_code(builder, tmp_path, builder.seal) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
@pytest.mark.parametrize("state", ["skipped", "tolerated"])
def test_an_answer_is_not_required_if_its_tasks_did_not_all_pass(tmp_path: Path, state: str) -> None:
    builder = run_with_outputs(state, "one", "none", allow_failure=True)
    assert last_level_4_code(builder, tmp_path / "right", builder.seal) is None

    short = run_with_outputs(state, "none", allow_failure=True)
    assert last_level_4_code(short, tmp_path / "short", short.seal) == "L425"


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_a_run_that_did_not_pass_needs_no_answer(tmp_path: Path) -> None:
    builder = run_with_outputs("failed")
    assert last_level_4_code(builder, tmp_path / "failed", lambda: builder.seal("failed")) is None

    wrong_status = run_with_outputs("failed")
    assert last_level_4_code(wrong_status, tmp_path / "wrong_status", wrong_status.seal) == "L422"


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_no_call_is_open_at_a_seal(tmp_path: Path) -> None:
    builder = RunBuilder(wave_plan({"a": task(ladder=[CHEAP])}))
    builder.start("a")

    assert last_level_4_code(builder, tmp_path, builder.seal) == "L423"
