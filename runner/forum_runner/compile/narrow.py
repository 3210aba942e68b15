"""Narrows a wave plan to some of its tasks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from forum_runner.canonical import canonical, digest, join_members
from forum_runner.errors import UsageError
from forum_runner.manifest.suggest import hint_for

_INSTANCE = re.compile(r"\[[^\]]*\]")


class Dependencies:
    """The dependencies between the tasks of a wave plan."""

    def __init__(self, wave_plan: Mapping[str, Any]) -> None:
        self.tasks: Mapping[str, Any] = wave_plan["tasks"]
        self.upstream = {name: frozenset(_upstream(task)) for name, task in self.tasks.items()}
        self.downstream: dict[str, set[str]] = {name: set() for name in self.tasks}
        for name, needed in self.upstream.items():
            for other in needed:
                self.downstream[other].add(name)

    def named(self, reference: str) -> set[str]:
        """The tasks that a name refers to: one by its id, all instances of a task, or all tasks of a used plan.

        Any step of the path may omit the instance.
        """
        steps = reference.split("/")
        found = {name for name in self.tasks if _leads_to(steps, name.split("/"))}
        if not found:
            hint = hint_for(reference, self._names(), "tasks")
            raise UsageError(f"no task named '{reference}' in the plan" + (f"; {hint}" if hint else ""))
        return found

    def all_named(self, references: Iterable[str]) -> set[str]:
        return {task for name in references for task in self.named(name)}

    def _names(self) -> set[str]:
        """The names that refer to tasks, without instances."""
        paths = [_INSTANCE.sub("", name).split("/") for name in self.tasks]
        return {"/".join(path[:length]) for path in paths for length in range(1, len(path) + 1)}

    def ancestors(self, tasks: Iterable[str]) -> set[str]:
        return _reach(tasks, self.upstream)

    def descendants(self, tasks: Iterable[str]) -> set[str]:
        return _reach(tasks, self.downstream)


def _leads_to(steps: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path starts with these steps, or with instances of them."""
    pairs = zip(steps, path, strict=False)
    return len(steps) <= len(path) and all(step in (own, _INSTANCE.sub("", own)) for step, own in pairs)


def narrow(wave_plan: Mapping[str, Any], keep: Collection[str]) -> tuple[dict[str, Any], bytes]:
    """The plan with only these tasks, and its bytes. Outputs that depend on other tasks are left out."""
    document = {name: value for name, value in wave_plan.items() if name not in ("bundle", "digest")}
    document["tasks"] = {name: task for name, task in wave_plan["tasks"].items() if name in keep}
    waves = ([name for name in wave if name in keep] for wave in wave_plan["waves"])
    document["waves"] = [wave for wave in waves if wave]
    outputs = wave_plan["outputs"].items()
    document["outputs"] = {name: value for name, value in outputs if set(_sources(value)) <= set(keep)}
    members = {name: canonical(value) for name, value in document.items()}
    document |= {"digest": digest(join_members(members)), "bundle": wave_plan["bundle"]}
    members |= {name: canonical(document[name]) for name in ("digest", "bundle")}
    return document, join_members(members)


def _upstream(task: Mapping[str, Any]) -> Iterable[str]:
    for need in task.get("needs", ()):
        yield from [need["task"]] if need["edge"] == "order" else _sources(need["from"])
    for condition in task.get("when", ()):
        yield from _sources(condition["from"])
    if "foreach" in task:
        yield from _sources(task["foreach"]["from"])


def _sources(value: Mapping[str, Any]) -> Iterable[str]:
    if "task" in value or "each" in value:
        yield value["task"] if "task" in value else value["each"]
    for part in (*value.get("list", ()), *value.get("object", {}).values()):
        yield from _sources(part)


def _reach(start: Iterable[str], steps: Mapping[str, Collection[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        for name in steps[waiting.pop()]:
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found
