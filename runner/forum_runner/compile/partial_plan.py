"""Selects a part of a wave plan: finds tasks by name and reduces the plan to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import orjson

from forum_runner.compile.digraph import reachable, reverse
from forum_runner.compile.wave_plan_writer import add_digest
from forum_runner.errors import UsageError
from forum_runner.manifest.suggest import hint_for
from forum_runner.wave_plan.plan_value import read_value
from forum_runner.wave_plan.unit_id import without_instances
from forum_runner.wave_plan.wave_plan_reader import WavePlan


class Dependencies:
    """The dependencies between the tasks of a wave plan."""

    def __init__(self, plan: WavePlan) -> None:
        self.tasks = plan.tasks
        self.upstream = {name: task.depends_on for name, task in self.tasks.items()}
        self.downstream = reverse(self.upstream)

    def find_tasks(self, reference: str) -> set[str]:
        """The tasks that a name refers to: one by its id, all instances of a task, or all tasks of an included plan.

        A plan is included with `uses`. Any step of the path may omit the instance. Raises a UsageError if there is no
        such task.
        """
        steps = reference.split("/")
        tasks = {name for name in self.tasks if _matches(steps, name.split("/"))}
        if not tasks:
            hint = hint_for(reference, self._names(), "tasks")
            raise UsageError(f"no task named '{reference}' in the plan" + (f"; {hint}" if hint else ""))
        return tasks

    def find_all_tasks(self, references: Iterable[str]) -> set[str]:
        return {task for name in references for task in self.find_tasks(name)}

    def _names(self) -> set[str]:
        """The names that refer to tasks, without instances."""
        paths = [without_instances(name).split("/") for name in self.tasks]
        return {"/".join(path[:length]) for path in paths for length in range(1, len(path) + 1)}

    def ancestors(self, tasks: Iterable[str]) -> set[str]:
        return reachable(tasks, self.upstream)

    def descendants(self, tasks: Iterable[str]) -> set[str]:
        return reachable(tasks, self.downstream)


def _matches(steps: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path starts with these steps, or with instances of them."""
    pairs = zip(steps, path, strict=False)
    return len(steps) <= len(path) and all(
        step in (path_step, without_instances(path_step)) for step, path_step in pairs
    )


def select_tasks(data: bytes, tasks: Collection[str]) -> bytes:
    """Reduces a wave plan to these tasks, and returns its bytes with a new digest.

    Outputs that depend on other tasks are left out.
    """
    wave_plan = orjson.loads(data)
    document = {name: value for name, value in wave_plan.items() if name not in ("bundle", "digest")}
    document["tasks"] = {name: task for name, task in wave_plan["tasks"].items() if name in tasks}
    waves = ([name for name in wave if name in tasks] for wave in wave_plan["waves"])
    document["waves"] = [wave for wave in waves if wave]
    outputs = wave_plan["outputs"].items()
    document["outputs"] = {name: value for name, value in outputs if set(read_value(value).tasks()) <= set(tasks)}
    return add_digest(document, wave_plan["bundle"])[1]
