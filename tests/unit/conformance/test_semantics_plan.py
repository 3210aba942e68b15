"""Level 4: the wave plan, names, waves, pauses and the seal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body, canonical, json_body
from fake_ledger.run_builder import RunBuilder
from fake_ledger.wave_plans import CHEAP, data_edge, task, wave_plan, with_digest
from unit.conformance.judged_run import draft_and_review, findings, judged, statuses

Change = Callable[[dict[str, Any]], Any]


def level_4(story: RunBuilder, directory: Path) -> list[tuple[str, int | None]]:
    """What level 4 says; all other levels must have nothing to say but that the ledger goes on."""
    report = judged(story.write(directory))
    others = [finding for finding in findings(report) if finding[0][1] != "4"]
    assert others in ([], [("L501", None)])
    return [finding for finding in findings(report) if finding[0][1] == "4"]


@pytest.mark.requirement("LEDGER-SEMANTICS-001")
def test_level_4_ends_with_its_first_finding(tmp_path: Path) -> None:
    story = RunBuilder(wave_plan({"a": task()}))
    first = story.start("a", attempt=2)
    story.start("nobody")

    assert level_4(story, tmp_path) == [("L409", first)]


def changed(change: Change) -> dict[str, Any]:
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
        lambda plan: plan["tasks"]["a"].update(agent="nobody"),
        lambda plan: plan["tasks"]["a"].update(accept=[{"agent": "nobody"}]),
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
def test_a_wave_plan_holds_together(tmp_path: Path, change: Change) -> None:
    assert level_4(RunBuilder(changed(lambda _: None)), tmp_path / "right") == []
    assert level_4(RunBuilder(changed(change)), tmp_path / "wrong") == [("L401", 0)]


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
def test_a_task_without_an_agent_has_a_lane(tmp_path: Path) -> None:
    assert level_4(RunBuilder(wave_plan({"a": {"lane": "auto", "escalate": ["capable"]}})), tmp_path) == []


def with_value(place: str, value: dict[str, Any]) -> dict[str, Any]:
    """A plan in which something takes a value; `one` is a task without foreach, and `many` one with it."""
    fields: dict[str, dict[str, Any]] = {
        "edge": {"needs": [data_edge(value, "x")]},
        "condition": {"when": [{"from": value, "matches": "0" * 64}]},
        "foreach": {"foreach": {"from": value, "as": "i", "max": 1}},
        "output": {},
    }
    many = task(foreach={"from": {"task": "one"}, "as": "item", "max": 1})
    tasks = {"one": task(), "many": many, "taker": task(**fields[place])}
    return wave_plan(tasks, outputs={"o": value} if place == "output" else {})


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
@pytest.mark.parametrize("place", ["edge", "condition", "foreach", "output"])
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"task": "one"}, []),
        ({"each": "many"}, []),
        ({"list": [{"object": {"x": {"each": "many"}}}, {"task": "one"}]}, []),
        ({"each": "one"}, [("L401", 0)]),
        ({"task": "many"}, [("L401", 0)]),
        ({"list": [{"task": "one"}, {"object": {"x": {"each": "one"}}}]}, [("L401", 0)]),
    ],
)
def test_each_names_a_task_with_foreach_and_task_one_without(
    tmp_path: Path, place: str, value: dict[str, Any], found: list[tuple[str, int]]
) -> None:
    assert level_4(RunBuilder(with_value(place, value)), tmp_path) == found


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
def test_an_order_edge_names_a_task_of_either_sort(tmp_path: Path) -> None:
    edge = {"edge": "order", "task": "many"}
    many = task(foreach={"from": {"task": "one"}, "as": "item", "max": 1})

    assert level_4(RunBuilder(wave_plan({"one": task(), "many": many, "after": task(needs=[edge])})), tmp_path) == []


@pytest.mark.requirement("LEDGER-SEMANTICS-002")
def test_the_wave_plan_is_the_one_that_the_first_entry_names(tmp_path: Path) -> None:
    plan = wave_plan({"a": task()})
    other = wave_plan({"b": task()})

    assert level_4(RunBuilder(plan, wave_plan="f" * 64), tmp_path / "a") == [("L401", 0)]
    assert level_4(RunBuilder(plan, bundle="f" * 64), tmp_path / "b") == [("L401", 0)]
    assert level_4(RunBuilder(plan, Body(canonical(other), "application/json")), tmp_path / "c") == [("L401", 0)]
    assert level_4(RunBuilder({**plan, "digest": "f" * 64}), tmp_path / "d") == [("L401", 0)]
    assert level_4(RunBuilder(plan, Body(canonical(plan) + b"\n", "application/json")), tmp_path / "e") == [("L401", 0)]
    assert level_4(RunBuilder(plan, Body(b"[" * 100_000, "application/json")), tmp_path / "f") == [("L401", 0)]


@pytest.mark.requirement("LEDGER-KIND-001")
def test_a_ledger_of_no_plan_is_not_checked_at_level_4(tmp_path: Path) -> None:
    story = draft_and_review()
    for entry in story.entries:
        entry["kind"] = entry["kind"] if entry["kind"].startswith("run.") else "x-told"
    story.entries[0]["bodies"] = {}
    story.bodies.pop(story.plan_body.digest)
    for name in ("wave_plan", "bundle"):
        story.entries[0]["data"].pop(name)

    report = judged(story.write(tmp_path))

    assert findings(report) == []
    assert statuses(report) == ["ok", "ok", "ok", "not checked", "ok"]


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("context.cut", {"task": "nobody", "as": "x", "bytes": 2, "kept_bytes": 1}),
        ("context.cut", {"task": "b", "as": "y", "bytes": 2, "kept_bytes": 1}),
        ("context.cut", {"task": "each[0]", "as": "item", "bytes": 2, "kept_bytes": 1}),
        ("budget.exceeded", {"task": "each", "attempt": 1, "amount": "micro_usd", "reserved": 1, "used": 2}),
        ("task.ended", {"task": "nobody", "state": "skipped", "reason": "upstream"}),
        ("task.ended", {"task": "each[0]", "state": "skipped", "reason": "upstream"}),
        ("route.decided", {"task": "a", "agent": "nobody", "by": "only"}),
        ("verdict.lost", {"task": "a", "attempt": 1, "check": 0}),
        ("escalation.raised", {"task": "a[0]", "from": "cheap", "to": "capable"}),
    ],
)
def test_what_an_entry_names_is_there(tmp_path: Path, kind: str, data: dict[str, Any]) -> None:
    foreach = {"from": {"task": "a"}, "as": "item", "max": 3}
    plan = wave_plan({"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")]), "each": task(foreach=foreach)})
    story = RunBuilder(plan)
    story.add("context.cut", {"task": "b", "as": "x", "bytes": 2, "kept_bytes": 1})

    seq = story.add(kind, data)

    assert level_4(story, tmp_path) == [("L402", seq)]


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
def test_only_a_task_with_foreach_is_expanded_and_only_an_output_of_the_plan_is_given(tmp_path: Path) -> None:
    story = RunBuilder(wave_plan({"a": task()}))
    assert level_4_of(story, tmp_path / "a", lambda: story.expand("a", Body(b"[]"), 0)) == "L402"

    other = RunBuilder(wave_plan({"a": task()}))
    assert level_4_of(other, tmp_path / "b", lambda: other.answer("o", Body(b"x"))) == "L402"


def level_4_of(story: RunBuilder, directory: Path, last: Callable[[], int]) -> str | None:
    """The code that the last entry gets, findings by a function; nothing before it may have one."""
    seq = last()
    found = level_4(story, directory)
    assert [place for _, place in found] in ([], [seq])
    return found[0][0] if found else None


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
def test_while_a_run_is_paused_little_stands(tmp_path: Path) -> None:
    gate = {"question": ["go?"], "on_deadline": "reject"}
    story = RunBuilder(wave_plan({"a": task(gate=gate), "b": task()}))
    story.open_gate("a")
    story.pause()
    story.add("x-note")
    story.decide("a")
    assert level_4(story, tmp_path / "paused") == []

    assert level_4_of(story, tmp_path / "started", lambda: story.start("b")) == "L424"


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
def test_a_run_is_paused_only_where_no_call_is_open(tmp_path: Path) -> None:
    story = RunBuilder(wave_plan({"a": task()}))
    story.start("a")

    assert level_4_of(story, tmp_path, story.pause) == "L424"


@pytest.mark.requirement("LEDGER-SEMANTICS-003")
def test_orphans_are_lost_before_a_call_begins_and_are_not_finished(tmp_path: Path) -> None:
    def orphaned() -> RunBuilder:
        story = RunBuilder(wave_plan({"a": task(), "b": task()}))
        story.start("a")
        story.resume()
        return story

    begun, over, lost = orphaned(), orphaned(), orphaned()
    assert level_4_of(begun, tmp_path / "begun", lambda: begun.start("b")) == "L424"
    assert level_4_of(over, tmp_path / "over", lambda: over.finish("a")) == "L408"
    lost.lose("a")
    assert level_4_of(lost, tmp_path / "lost", lambda: lost.start("b")) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-004")
def test_waves_are_opened_in_order_when_the_earlier_ones_have_ended(tmp_path: Path) -> None:
    plan = wave_plan({"a": task(), "b": task()}, dispatch="waves")
    story = RunBuilder(plan)
    story.open_wave(0)
    story.complete("a")
    story.open_wave(1)
    story.complete("b")
    assert level_4(story, tmp_path / "right") == []

    assert level_4_of(story, tmp_path / "beyond", lambda: story.open_wave(2)) == "L405"
    early = RunBuilder(plan)
    early.open_wave(0)
    assert level_4_of(early, tmp_path / "early", lambda: early.open_wave(1)) == "L405"
    skipping = RunBuilder(plan)
    assert level_4_of(skipping, tmp_path / "skipping", lambda: skipping.open_wave(1)) == "L405"
    eager = RunBuilder(wave_plan({"a": task()}))
    assert level_4_of(eager, tmp_path / "eager", lambda: eager.open_wave(0)) == "L405"


def test_x_entries_are_left_alone(tmp_path: Path) -> None:
    story = RunBuilder(wave_plan({"a": task()}))
    story.add("x-told", {"task": "nobody", "output": 3})

    assert level_4(story, tmp_path) == []


def a_run() -> RunBuilder:
    story = RunBuilder(wave_plan({"a": task(), "b": task(allow_failure=True)}))
    reserved = {"input_tokens": 5, "output_tokens": 6, "micro_usd": 7, "output_bytes": 8}
    story.start("a", reserved=reserved)
    story.finish("a", input_tokens=4, cached_input_tokens=2, wall_ms=90)
    story.end("a")
    story.start("b", reserved=reserved)
    story.lose("b")
    story.start("b", attempt=2)
    story.finish("b", attempt=2, status="error")
    return story


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_a_seal_counts_states_and_sums_what_was_charged(tmp_path: Path) -> None:
    story = a_run()
    story.end("b", "tolerated")
    seq = story.seal()

    assert level_4(story, tmp_path) == []
    assert story.entries[seq]["data"]["totals"] == {
        "calls": 3,
        "input_tokens": 9,
        "cached_input_tokens": 2,
        "output_tokens": 6,
        "micro_usd": 7,
        "output_bytes": 8,
        "wall_ms": 90,
    }


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_a_seal_tells_what_the_entries_tell(tmp_path: Path) -> None:
    early = a_run()
    assert level_4_of(early, tmp_path / "early", early.seal) == "L423"

    counted = a_run()
    counted.end("b", "tolerated")
    counts = {**dict.fromkeys(("failed", "tolerated", "skipped", "stopped", "refused", "cancelled"), 0), "passed": 2}
    assert level_4_of(counted, tmp_path / "counts", lambda: counted.seal(counts=counts)) == "L420"

    summed = a_run()
    summed.end("b", "tolerated")
    summed.totals["wall_ms"] += 1
    assert level_4_of(summed, tmp_path / "totals", summed.seal) == "L421"


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
def test_the_status_is_that_of_some_task(tmp_path: Path, state: str, status: str, code: str | None) -> None:
    story = RunBuilder(wave_plan({"a": task()}))
    if state == "passed":
        story.complete("a")
    else:
        story.end("a", state)

    assert level_4_of(story, tmp_path, lambda: story.seal(status)) == code


OUTPUTS: dict[str, Any] = {"one": {"task": "a"}, "both": {"list": [{"task": "a"}, {"task": "b"}]}, "none": {"list": []}}


def run_with_outputs(state: str, *given: str, **fields: Any) -> RunBuilder:
    """Task `a` passes, `b` ends in some state, and some of the outputs are given."""
    story = RunBuilder(wave_plan({"a": task(), "b": task(**fields)}, outputs=OUTPUTS))
    text = Body(b"text")
    first = story.complete("a", text)
    last = story.complete("b", text) if state == "passed" else story.end("b", state)
    values = {"one": (text, first), "both": (json_body(["text", "text"]), last), "none": (json_body([]), 0)}
    for name in given:
        story.answer(name, values[name][0], values[name][1])
    return story


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["one", "both", "none"], None),
        (["both", "none"], "L425"),
        (["one", "none"], "L425"),
        (["one", "both"], "L425"),
    ],
)
def test_a_run_that_passed_has_given_its_answers(tmp_path: Path, given: list[str], code: str | None) -> None:
    story = run_with_outputs("passed", *given)

    assert level_4_of(story, tmp_path, story.seal) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
@pytest.mark.parametrize("state", ["skipped", "tolerated"])
def test_an_answer_whose_tasks_did_not_all_pass_is_not_asked_for(tmp_path: Path, state: str) -> None:
    story = run_with_outputs(state, "one", "none", allow_failure=True)
    assert level_4_of(story, tmp_path / "right", story.seal) is None

    short = run_with_outputs(state, "none", allow_failure=True)
    assert level_4_of(short, tmp_path / "short", short.seal) == "L425"


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_a_run_that_did_not_pass_owes_no_answer(tmp_path: Path) -> None:
    story = run_with_outputs("failed")
    assert level_4_of(story, tmp_path / "failed", lambda: story.seal("failed")) is None

    untrue = run_with_outputs("failed")
    assert level_4_of(untrue, tmp_path / "untrue", untrue.seal) == "L422"


@pytest.mark.requirement("LEDGER-SEMANTICS-017")
def test_no_call_is_open_at_a_seal(tmp_path: Path) -> None:
    story = RunBuilder(wave_plan({"a": task(ladder=[CHEAP])}))
    story.start("a")

    assert level_4_of(story, tmp_path, story.seal) == "L423"
