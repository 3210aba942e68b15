"""The rules for starting tasks: waves and dependencies."""

from collections.abc import Iterable

from forum_conformance.entry import Entry
from forum_conformance.semantics.state import Ending, Run
from forum_conformance.semantics.violation import require


def wave_opened(run: Run, entry: Entry) -> None:
    wave = entry["data"]["wave"]
    require(
        run.plan.policy["dispatch"] == "waves", "L405", "a wave is opened, but the policy does not dispatch by waves"
    )
    is_next = wave == run.waves_opened and wave < len(run.plan.waves)
    require(is_next, "L405", f"wave {wave} is opened after {run.waves_opened} of {len(run.plan.waves)} waves")
    for earlier in run.plan.waves[:wave]:
        for task in earlier:
            require(task in run.endings, "L405", f"wave {wave} is opened before task '{task}' has ended")
    run.waves_opened += 1


def require_may_start(run: Run, task: str) -> None:
    """Check that the wave is open, the dependencies have ended, and those with data passed (LEDGER-SEMANTICS-005)."""
    is_open = run.plan.policy["dispatch"] != "waves" or run.plan.wave_of[task] < run.waves_opened
    require(is_open, "L405", f"task '{task}' starts before its wave is open")
    require_ended(run, run.plan.dependencies(task), f"task '{task}' starts")
    require_passed(run, run.plan.data_sources(task), f"task '{task}' starts")


def require_ended(run: Run, tasks: Iterable[str], event: str) -> None:
    for task in sorted(tasks):
        require(task in run.endings, "L403", f"{event} before task '{task}' has ended")


def require_passed(run: Run, tasks: Iterable[str], event: str) -> None:
    for task in sorted(tasks):
        require(run.endings[task].state == "passed", "L404", f"{event}, but task '{task}' has not passed")


def last_ending(run: Run, tasks: Iterable[str]) -> int | None:
    """The seq of the `task.ended` of the task that ended last; None if there are no tasks."""
    endings: list[Ending] = [run.endings[task] for task in tasks]
    return max((ending.seq for ending in endings), default=None)
