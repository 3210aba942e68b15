"""Steps of a story, to be findings in a row: the last entry of a case is the one that is looked at."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_ledger.run_builder import DISPLAYED, DONE, RunBuilder
from fake_ledger.wave_plans import task, wave_plan
from unit.conformance.judged_run import findings, judged

Step = Callable[[RunBuilder], Any]


def code_of(directory: Path, plan: dict[str, Any], *steps: Step) -> str | None:
    """The code of the entry that the last step adds."""
    story = RunBuilder(plan)
    for step in steps:
        step(story)
    return last_code(story, directory)


def last_code(story: RunBuilder, directory: Path) -> str | None:
    """The code of the last entry; the entries before it must be lawful."""
    report = judged(story.write(directory))
    found = [finding for finding in findings(report) if finding[0] != "L501"]
    assert [seq for _, seq in found] in ([], [len(story.entries) - 1])
    return found[0][0] if found else None


def start(unit: str = "a", attempt: int = 1, **changes: Any) -> Step:
    return lambda story: story.start(unit, attempt, **changes)


def finish(unit: str = "a", attempt: int = 1, status: str = "ok", **changes: Any) -> Step:
    return lambda story: story.finish(unit, DONE, attempt, status, **changes)


def lose(unit: str = "a", attempt: int = 1, **changes: Any) -> Step:
    return lambda story: story.lose(unit, attempt, **changes)


def end(unit: str = "a", state: str = "passed", reason: str = "error", **changes: Any) -> Step:
    return lambda story: story.end(unit, state, reason, **changes)


def ask(check: int = 0, by: str = "command", **changes: Any) -> Step:
    return lambda story: story.ask(check, by, **changes)


def give(check: int = 0, by: str = "command", verdict: str = "pass", **changes: Any) -> Step:
    return lambda story: story.judge(check, by, verdict, **changes)


def reuse(unit: str = "a") -> Step:
    return lambda story: story.reuse(unit)


def escalate(tier: str = "cheap", to: str = "capable", **changes: Any) -> Step:
    return lambda story: story.escalate("a", tier, to, **changes)


def route(agent: str = "worker") -> Step:
    return lambda story: story.route("a", agent)


def open_gate(deadline: str | None = None) -> Step:
    return lambda story: story.open_gate("a", deadline)


def decide(decision: str = "approved", by: str = "person", displayed: str = DISPLAYED.digest, **changes: Any) -> Step:
    return lambda story: story.decide("a", decision, by, displayed, **changes)


ONE = wave_plan({"a": task()})
