"""Steps that add entries to a run. A case checks the finding for its last entry."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_ledger.run_builder import DISPLAYED, DONE, RunBuilder
from fake_ledger.wave_plans import task, wave_plan
from unit.conformance.judged_run import findings, judge_directory

Step = Callable[[RunBuilder], Any]


def code_of(directory: Path, plan: dict[str, Any], *steps: Step) -> str | None:
    """Return the code of the finding for the entry that the last step adds."""
    builder = RunBuilder(plan)
    for step in steps:
        step(builder)
    return last_code(builder, directory)


def last_code(builder: RunBuilder, directory: Path) -> str | None:
    """Return the code of the finding for the last entry, if any. Earlier entries must have none."""
    report = judge_directory(builder.write(directory))
    others = [finding for finding in findings(report) if finding[0] != "L501"]
    assert [seq for _, seq in others] in ([], [len(builder.entries) - 1])
    return others[0][0] if others else None


def start(unit: str = "a", attempt: int = 1, **changes: Any) -> Step:
    return lambda builder: builder.start(unit, attempt, **changes)


def finish(unit: str = "a", attempt: int = 1, status: str = "ok", **changes: Any) -> Step:
    return lambda builder: builder.finish(unit, DONE, attempt, status, **changes)


def lose(unit: str = "a", attempt: int = 1, **changes: Any) -> Step:
    return lambda builder: builder.lose(unit, attempt, **changes)


def end(unit: str = "a", state: str = "passed", reason: str = "error", **changes: Any) -> Step:
    return lambda builder: builder.end(unit, state, reason, **changes)


def ask(check: int = 0, by: str = "command", **changes: Any) -> Step:
    return lambda builder: builder.ask(check, by, **changes)


def give(check: int = 0, by: str = "command", verdict: str = "pass", **changes: Any) -> Step:
    return lambda builder: builder.judge(check, by, verdict, **changes)


def reuse(unit: str = "a") -> Step:
    return lambda builder: builder.reuse(unit)


def escalate(tier: str = "cheap", to: str = "capable", **changes: Any) -> Step:
    return lambda builder: builder.escalate("a", tier, to, **changes)


def route(agent: str = "worker") -> Step:
    return lambda builder: builder.route("a", agent)


def open_gate(deadline: str | None = None) -> Step:
    return lambda builder: builder.open_gate("a", deadline)


def decide(decision: str = "approved", by: str = "person", displayed: str = DISPLAYED.digest, **changes: Any) -> Step:
    return lambda builder: builder.decide("a", decision, by, displayed, **changes)


ONE_TASK = wave_plan({"a": task()})
