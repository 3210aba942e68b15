"""Level 4: gates, verdicts and the ends of tasks. Only the last entry of a case may have a finding."""

from pathlib import Path
from typing import Any

import pytest

from fake_ledger.wave_plans import CAPABLE, task, wave_plan
from unit.conformance.steps import ONE_TASK, Step, ask, code_of, decide, end, finish, give, open_gate, reuse, start

EARLY, DEADLINE, LATE = (f"2026-11-15T09:0{minute}:00.000000Z" for minute in (1, 2, 3))
GATED = wave_plan({"a": task(gate={"question": [], "on_deadline": "reject"})})
TIMED = wave_plan({"a": task(gate={"question": [], "deadline_ms": 120_000, "on_deadline": "approve"})})


@pytest.mark.requirement("LEDGER-SEMANTICS-009")
@pytest.mark.parametrize(
    ("code", "plan", "steps"),
    [
        (None, GATED, [open_gate(), decide(), start()]),
        (None, TIMED, [open_gate(DEADLINE), decide(at=EARLY)]),
        (None, TIMED, [open_gate(DEADLINE), decide(by="deadline", at=DEADLINE)]),
        ("L414", ONE_TASK, [open_gate()]),
        ("L414", GATED, [open_gate(), open_gate()]),
        ("L414", GATED, [end(state="stopped"), open_gate()]),
        ("L414", GATED, [open_gate(DEADLINE)]),
        ("L414", TIMED, [open_gate()]),
        ("L414", GATED, [decide()]),
        ("L414", GATED, [open_gate(), decide(), decide()]),
        ("L414", GATED, [open_gate(), decide(displayed="0" * 64)]),
        ("L414", GATED, [open_gate(), decide("rejected", by="deadline")]),
        ("L414", TIMED, [open_gate(DEADLINE), decide(by="deadline", at=EARLY)]),
        ("L414", TIMED, [open_gate(DEADLINE), decide("rejected", by="deadline", at=LATE)]),
        ("L414", TIMED, [open_gate(DEADLINE), decide(at=DEADLINE)]),
        ("L426", GATED, [open_gate(), decide(causes=[0])]),
        ("L414", GATED, [start()]),
        ("L414", GATED, [reuse()]),
        ("L414", GATED, [open_gate(), start()]),
        ("L414", GATED, [open_gate(), decide("rejected"), start()]),
    ],
)
def test_a_gate_is_decided_once_and_on_the_displayed_body(
    tmp_path: Path, code: str | None, plan: dict[str, Any], steps: list[Step]
) -> None:
    assert code_of(tmp_path, plan, *steps) == code


CHECKED = wave_plan({"a": task(accept=[{"schema": "0" * 64}, {"command": [["x"]]}, {"agent": "critic"}])})
TO_COMMAND = [start(), finish(), give(0, "schema")]
TO_AGENT = [*TO_COMMAND, ask(1), give(1)]


@pytest.mark.requirement("LEDGER-SEMANTICS-012")
@pytest.mark.parametrize(
    ("code", "steps"),
    [
        (None, [*TO_AGENT, ask(2, "agent"), give(2, "agent"), end()]),
        (None, [*TO_COMMAND, ask(1), give(1, verdict="none"), ask(1)]),
        (None, [*TO_COMMAND, ask(1), lambda builder: builder.lose_verdict(1), ask(1)]),
        ("L415", [give(0, "schema")]),
        ("L415", [start(), give(0, "schema")]),
        ("L415", [start(), finish(status="error"), give(0, "schema")]),
        ("L415", [start(), finish(), give(0, "schema", attempt=2)]),
        ("L415", [start(), finish(), ask(1)]),
        ("L415", [start(), finish(), ask(0)]),
        ("L415", [start(), finish(), give(0, "schema", "fail"), give(0, "schema")]),
        ("L415", [*TO_COMMAND, give(0, "schema")]),
        ("L415", [*TO_COMMAND, give(1, "schema")]),
        ("L415", [*TO_COMMAND, ask(1), ask(1)]),
        ("L415", [*TO_COMMAND, end(state="failed"), ask(1)]),
        ("L415", [reuse(), ask(1)]),
        ("L411", [*TO_AGENT, ask(2, "agent", agent="worker")]),
        ("L411", [*TO_AGENT, ask(2, "agent", **CAPABLE)]),
        ("L426", [*TO_COMMAND, ask(1, causes=[1])]),
        ("L426", [start(), finish(), give(0, "schema", causes=[1])]),
        ("L408", [*TO_COMMAND, give(1)]),
        ("L408", [*TO_COMMAND, ask(1), give(1, attempt=2)]),
        ("L408", [*TO_COMMAND, ask(1), give(2, "agent")]),
        ("L408", [*TO_COMMAND, ask(1), give(1, "agent")]),
        ("L408", [*TO_COMMAND, ask(1), lambda builder: builder.lose_verdict(2)]),
        ("L408", [*TO_COMMAND, ask(1), lambda builder: builder.resume(), give(1)]),
        ("L426", [*TO_COMMAND, ask(1), give(1, causes=[2])]),
        ("L426", [*TO_COMMAND, ask(1), lambda builder: builder.lose_verdict(1, causes=[2])]),
        ("L408", [*TO_COMMAND, ask(1), finish()]),
    ],
)
def test_checks_are_made_in_order_on_the_last_attempt(tmp_path: Path, code: str | None, steps: list[Step]) -> None:
    assert code_of(tmp_path, CHECKED, *steps) == code


TOLERANT = wave_plan({"a": task(allow_failure=True)})
CONDITIONAL = wave_plan({"b": task(), "a": task(when=[{"from": {"task": "b"}, "matches": "0" * 64}])})
FAILED = [start(), finish(status="error")]


@pytest.mark.requirement("LEDGER-SEMANTICS-014")
@pytest.mark.parametrize(
    ("code", "plan", "steps"),
    [
        ("L417", ONE_TASK, [end(state="stopped"), end(state="stopped")]),
        ("L417", ONE_TASK, [start(), end(state="stopped")]),
        ("L417", ONE_TASK, [end()]),
        ("L417", ONE_TASK, [*FAILED, end()]),
        ("L417", CHECKED, [start(), finish(), end()]),
        (None, ONE_TASK, [*FAILED, end(state="failed")]),
        ("L417", ONE_TASK, [start(), finish(), end(state="failed")]),
        ("L417", TOLERANT, [*FAILED, end(state="failed")]),
        (None, TOLERANT, [*FAILED, end(state="tolerated")]),
        ("L417", ONE_TASK, [*FAILED, end(state="tolerated")]),
        (None, ONE_TASK, [end(state="skipped", reason="upstream")]),
        ("L417", ONE_TASK, [*FAILED, end(state="skipped", reason="upstream")]),
        ("L417", ONE_TASK, [reuse(), end(state="skipped", reason="upstream")]),
        ("L417", ONE_TASK, [end(state="skipped", reason="condition")]),
        (None, CONDITIONAL, [end(state="skipped", reason="condition")]),
        (None, ONE_TASK, [*FAILED, end(state="refused")]),
        ("L417", ONE_TASK, [start(), finish(), end(state="refused")]),
        ("L417", ONE_TASK, [start(), finish(), end(state="cancelled")]),
        ("L417", ONE_TASK, [reuse(), end(state="stopped")]),
        ("L426", ONE_TASK, [start(), finish(), end(causes=[1])]),
    ],
)
def test_a_task_ends_in_a_state_that_its_attempts_allow(
    tmp_path: Path, code: str | None, plan: dict[str, Any], steps: list[Step]
) -> None:
    assert code_of(tmp_path, plan, *steps) == code
