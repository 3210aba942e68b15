"""Level 4: attempts, budgets, routes and ladders. Only the last entry of a case may have a finding."""

from pathlib import Path
from typing import Any

import pytest

from fake_ledger.files import Body
from fake_ledger.run_builder import NOTHING_RESERVED, RunBuilder
from fake_ledger.wave_plans import CAPABLE, CHEAP, data_edge, task, wave_plan
from unit.conformance.judged_run import judge_directory
from unit.conformance.steps import (
    ONE_TASK,
    Step,
    ask,
    code_of,
    decide,
    end,
    escalate,
    finish,
    give,
    lose,
    open_gate,
    reuse,
    route,
    start,
)

PAIR = wave_plan({"a": task(), "b": task(needs=[{"edge": "order", "task": "a"}])})
WITH_DATA = wave_plan({"a": task(), "b": task(needs=[data_edge({"task": "a"}, "x")])})


@pytest.mark.requirement("LEDGER-SEMANTICS-010", "LEDGER-KIND-002")
@pytest.mark.parametrize(
    ("code", "steps"),
    [
        (None, [start()]),
        (None, [start(), lose(), start(attempt=2), finish(attempt=2)]),
        ("L409", [start(attempt=2)]),
        ("L409", [start(), start(attempt=2)]),
        ("L409", [start(), finish(), start(attempt=2)]),
        ("L409", [end(state="stopped"), start()]),
        ("L409", [reuse(), start()]),
        ("L411", [start(agent="critic")]),
        ("L411", [start(tier="capable")]),
        ("L411", [start(adapter="large")]),
        (
            "L410",
            [start(), finish(status="error"), start(attempt=2), finish(attempt=2, status="error"), start(attempt=3)],
        ),
        (None, [start(), lose(), start(attempt=2), finish(attempt=2, status="error"), start(attempt=3)]),
        ("L426", [start(), finish(status="error"), start(attempt=2, causes=[1])]),
    ],
)
def test_an_attempt_starts_only_when_it_is_allowed(tmp_path: Path, code: str | None, steps: list[Step]) -> None:
    assert code_of(tmp_path, ONE_TASK, *steps) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-010")
def test_a_task_may_set_its_own_number_of_attempts(tmp_path: Path) -> None:
    plan = wave_plan({"a": task(retry={"attempts": 1, "backoff_ms": 0, "max_backoff_ms": 0})})

    failed = finish(status="error")

    assert code_of(tmp_path, plan, start(), failed, start(attempt=2)) == "L410"


@pytest.mark.requirement("LEDGER-SEMANTICS-010")
def test_a_cancelled_attempt_does_not_count(tmp_path: Path) -> None:
    plan = wave_plan({"a": task(retry={"attempts": 1, "backoff_ms": 0, "max_backoff_ms": 0})})

    assert code_of(tmp_path, plan, start(), finish(status="cancelled"), start(attempt=2)) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-005")
@pytest.mark.parametrize(
    ("code", "plan", "steps"),
    [
        ("L403", PAIR, [start("b")]),
        ("L403", PAIR, [start(), finish(), start("b")]),
        (None, PAIR, [end(state="failed"), start("b")]),
        ("L404", WITH_DATA, [end(state="skipped"), start("b")]),
        ("L406", WITH_DATA, [start(), finish(), end(), start("b")]),
        ("L406", WITH_DATA, [start(), finish(), end(), reuse("b")]),
        ("L405", wave_plan({"a": task()}, dispatch="waves"), [start()]),
        ("L405", wave_plan({"a": task()}, dispatch="waves"), [reuse()]),
        (None, wave_plan({"a": task()}, dispatch="waves"), [lambda builder: builder.open_wave(0), start()]),
    ],
)
def test_a_task_starts_after_its_dependencies(
    tmp_path: Path, code: str | None, plan: dict[str, Any], steps: list[Step]
) -> None:
    assert code_of(tmp_path, plan, *steps) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-005")
def test_a_task_starts_after_the_tasks_in_its_conditions(tmp_path: Path) -> None:
    plan = wave_plan({"a": task(), "b": task(when=[{"from": {"task": "a"}, "matches": "0" * 64}])})

    assert code_of(tmp_path / "early", plan, start("b")) == "L403"
    assert code_of(tmp_path / "failed", plan, end(state="failed"), start("b")) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-010")
def test_an_attempt_names_its_causes(tmp_path: Path) -> None:
    def deliver(builder: RunBuilder) -> None:
        builder.deliver("b", "x", Body(b"done"), 3)

    before = [start(), finish(), end(), deliver]
    assert code_of(tmp_path / "right", WITH_DATA, *before, start("b")) is None
    assert code_of(tmp_path / "wrong", WITH_DATA, *before, start("b", causes=[3])) == "L426"

    gated = wave_plan({"a": task(gate={"question": [], "on_deadline": "reject"})})
    assert code_of(tmp_path / "gate", gated, open_gate(), decide(), start(causes=[1])) == "L426"


@pytest.mark.requirement("LEDGER-SEMANTICS-011")
@pytest.mark.parametrize(
    ("code", "steps"),
    [
        ("L408", [finish()]),
        ("L408", [start(), finish(attempt=2)]),
        ("L408", [start(), finish(status="error"), finish(status="error")]),
        ("L426", [start(), finish(causes=[0])]),
        ("L408", [start(), finish(status="error"), lose()]),
        ("L426", [start(), lose(causes=[0])]),
        (None, [reuse(), end()]),
        ("L409", [reuse(), reuse()]),
        ("L409", [start(), finish(status="error"), reuse()]),
        ("L409", [end(state="stopped"), reuse()]),
    ],
)
def test_an_attempt_is_closed_once_and_a_reuse_replaces_the_first(
    tmp_path: Path, code: str | None, steps: list[Step]
) -> None:
    assert code_of(tmp_path, ONE_TASK, *steps) == code


RESERVED = {"input_tokens": 6, "output_tokens": 4, "micro_usd": 5, "output_bytes": 9}


def plan_with_budget(**budget: int) -> dict[str, Any]:
    return wave_plan({"a": task(), "b": task()}, budget=budget)


@pytest.mark.requirement("LEDGER-SEMANTICS-015")
@pytest.mark.parametrize(
    ("resource", "reserved"),
    [("input_tokens", 6), ("output_tokens", 4), ("tokens", 10), ("micro_usd", 5), ("output_bytes", 9), ("calls", 1)],
)
def test_the_reservation_of_a_call_fits_the_budget(tmp_path: Path, resource: str, reserved: int) -> None:
    enough, too_little = plan_with_budget(**{resource: 2 * reserved}), plan_with_budget(**{resource: 2 * reserved - 1})
    both = [start(reserved=RESERVED), start("b", reserved=RESERVED)]

    assert code_of(tmp_path / "enough", enough, *both) is None
    assert code_of(tmp_path / "too-little", too_little, *both) == "L412"


@pytest.mark.requirement("LEDGER-SEMANTICS-015")
def test_usage_replaces_the_reservation_and_a_lost_call_keeps_it(tmp_path: Path) -> None:
    plan = plan_with_budget(tokens=10)
    nine_tokens = {**NOTHING_RESERVED, "input_tokens": 9}

    again = start("b", reserved=nine_tokens)
    assert code_of(tmp_path / "used", plan, start(reserved=RESERVED), finish(input_tokens=1), again) is None
    assert code_of(tmp_path / "lost", plan, start(reserved=RESERVED), lose(), again) == "L412"
    assert code_of(tmp_path / "over", plan, start(reserved=RESERVED), finish(input_tokens=11), start("b")) == "L412"


@pytest.mark.requirement("LEDGER-SEMANTICS-015")
def test_agents_and_tasks_have_their_own_budgets(tmp_path: Path) -> None:
    by_agent = wave_plan({"a": task(accept=[{"command": [["x"]]}]), "b": task()}, limits={"calls": 1})
    by_task = wave_plan({"a": task(budget={"tokens": 10}), "b": task()})

    assert code_of(tmp_path / "command", by_agent, start(), finish(), ask(reserved=RESERVED)) is None
    assert code_of(tmp_path / "agent", by_agent, start(), start("b")) == "L412"
    assert code_of(tmp_path / "task", by_task, start(reserved={**RESERVED, "input_tokens": 7})) == "L412"
    assert code_of(tmp_path / "other", by_task, start("b", reserved={**RESERVED, "input_tokens": 7})) is None


@pytest.mark.requirement("LEDGER-SEMANTICS-015")
def test_a_command_check_reserves_amounts_of_its_task_but_no_call(tmp_path: Path) -> None:
    plan = wave_plan({"a": task(accept=[{"command": [["x"]]}], budget={"calls": 1, "output_bytes": 8})})

    assert code_of(tmp_path / "none", plan, start(), finish(), ask()) is None
    assert code_of(tmp_path / "much", plan, start(), finish(), ask(reserved=RESERVED)) == "L412"


@pytest.mark.requirement("LEDGER-SEMANTICS-010", "LEDGER-SEMANTICS-012")
def test_open_calls_do_not_exceed_max_parallel(tmp_path: Path) -> None:
    checks = [{"command": [["x"]]}]
    plan = wave_plan({"a": task(accept=checks), "b": task()}, max_parallel=1)

    assert code_of(tmp_path / "started", plan, start(), start("b")) == "L413"
    assert code_of(tmp_path / "asked", plan, start(), finish(), start("b"), ask()) == "L413"
    assert code_of(tmp_path / "one", plan, start(), finish(), start("b")) is None


LANE = wave_plan({"a": {"lane": "auto", "escalate": ["capable", "frontier"]}})


@pytest.mark.requirement("LEDGER-SEMANTICS-008")
@pytest.mark.parametrize(
    ("code", "plan", "steps"),
    [
        (None, LANE, [route(), start()]),
        (None, LANE, [route(), start(), finish(status="error"), escalate(), start(attempt=2, **CAPABLE)]),
        ("L418", LANE, [route(), start(), finish(status="error"), escalate(to="frontier")]),
        ("L411", LANE, [start()]),
        ("L411", LANE, [route("critic"), start()]),
        ("L411", LANE, [route(), route()]),
        ("L411", LANE, [end(state="stopped"), route()]),
        ("L411", LANE, [reuse(), route()]),
        ("L411", ONE_TASK, [route()]),
    ],
)
def test_a_task_with_a_lane_is_routed_once_before_it_starts(
    tmp_path: Path, code: str | None, plan: dict[str, Any], steps: list[Step]
) -> None:
    assert code_of(tmp_path, plan, *steps) == code


LADDER = wave_plan({"a": task(ladder=[CHEAP, CAPABLE], accept=[{"schema": "0" * 64}])})


@pytest.mark.requirement("LEDGER-SEMANTICS-013")
@pytest.mark.parametrize(
    ("code", "steps"),
    [
        (None, [start(), finish(), give(by="schema", verdict="fail"), escalate(), start(attempt=2, **CAPABLE)]),
        ("L411", [start(), finish(status="error"), escalate(), start(attempt=2)]),
        ("L418", [escalate()]),
        ("L418", [start(), escalate()]),
        ("L418", [start(), finish(status="error"), end(state="failed"), escalate()]),
        ("L418", [start(), finish(), give(by="schema"), escalate()]),
        ("L418", [start(), finish(status="error"), escalate("capable", "frontier")]),
        ("L418", [start(), finish(status="error"), escalate(to="frontier")]),
        ("L418", [start(), lose(), escalate(), escalate("capable", "frontier")]),
        ("L426", [start(), finish(status="error"), escalate(causes=[1])]),
    ],
)
def test_an_escalation_goes_up_one_step(tmp_path: Path, code: str | None, steps: list[Step]) -> None:
    assert code_of(tmp_path, LADDER, *steps) == code


@pytest.mark.requirement("LEDGER-SEMANTICS-013")
def test_the_finding_for_an_early_escalation_mentions_the_escalation(tmp_path: Path) -> None:
    builder = RunBuilder(LADDER)
    escalate()(builder)

    (finding,) = (item for item in judge_directory(builder.write(tmp_path)).findings.items if item.code == "L418")

    assert finding.sentence == "'a' escalates, but it has ended, has not been attempted, or has an open call"


@pytest.mark.requirement("LEDGER-SEMANTICS-010", "LEDGER-SEMANTICS-013")
def test_attempts_are_counted_per_step(tmp_path: Path) -> None:
    retry = {"attempts": 1, "backoff_ms": 0, "max_backoff_ms": 0}
    plan = wave_plan({"a": task(ladder=[CHEAP, CAPABLE], retry=retry)})
    escalated = [start(), finish(status="error"), escalate(), start(attempt=2, **CAPABLE), finish("a", 2, "error")]

    assert code_of(tmp_path / "escalated", plan, *escalated) is None
    assert code_of(tmp_path / "again", plan, *escalated, start(attempt=3, **CAPABLE)) == "L410"
