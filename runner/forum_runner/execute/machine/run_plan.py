"""The wave plan as the machine sees it: what each task waits for, and who waits for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from forum_runner.execute.machine.call_limits import OF_A_CHECK, Terms, terms_of
from forum_runner.ledger.semantics.plan import tasks_of

Value = Mapping[str, Any]
Parts = Sequence[Any]


class Rung(NamedTuple):
    """A rung of a ladder."""

    tier: str
    adapter: str


class Edge(NamedTuple):
    """A data edge: what is handed over under which name, what it must fit, how much of it a prompt gets."""

    name: str
    value: Value
    expects: Sequence[str]
    max_bytes: int | None
    origin: str


# What changes how often or when a task is done, and not what it does.
_NOT_THE_WORK = frozenset(
    {
        "agent",
        "allow_failure",
        "budget",
        "cache",
        "escalate",
        "foreach",
        "gate",
        "idempotent",
        "ladder",
        "lane",
        "matrix",
        "needs",
        "retry",
        "sensitive",
        "when",
    }
)
_NOTHING: frozenset[str] = frozenset()


def work_in(form: Mapping[str, Any]) -> bytes:
    """What a task is to do, as its fingerprint takes it."""
    work = {name: value for name, value in form.items() if name not in _NOT_THE_WORK}
    # A task of a wave plan holds what orjson writes as RFC 8785 asks: no floats, and keys in ASCII.
    written = orjson.dumps(work, option=orjson.OPT_SORT_KEYS)
    # Another object than orjson's, which has room for 4 KiB whatever it holds.
    return bytes(memoryview(written))


class TaskSpec:
    """A task of the wave plan. `order` is its place in the plan: of two that could go first, the lower one does."""

    __slots__ = (
        "accept",
        "agent",
        "conditions",
        "dependents",
        "depends_on",
        "edges",
        "foreach",
        "form",
        "gate",
        "id",
        "is_sensitive",
        "ladder",
        "order",
        "read_from",
        "readers",
        "retry",
        "sources",
        "wave",
        "work",
    )  # fmt: skip

    def __init__(self, id_: str, form: Mapping[str, Any], wave: int, order: int, policy: Mapping[str, Any]) -> None:
        self.id = id_
        self.form = form
        self.wave = wave
        self.order = order
        needs = form.get("needs", ())
        self.agent: str | None = form.get("agent")
        self.ladder = tuple([Rung(step["tier"], step["adapter"]) for step in form.get("ladder", ())])
        self.foreach: Mapping[str, Any] | None = form.get("foreach")
        self.gate: Mapping[str, Any] | None = form.get("gate")
        self.accept: Sequence[Mapping[str, Any]] = form.get("accept", ())
        self.conditions: Sequence[Mapping[str, Any]] = form.get("when", ())
        self.retry: Mapping[str, int] = form.get("retry", policy["retry"])
        self.is_sensitive: bool = "sensitive" in form or policy["privacy"]["sensitive"]
        self.edges = tuple(
            [
                Edge(need["as"], need["from"], need.get("expects", ()), need.get("max_bytes"), _origin(need["from"]))
                for need in needs
                if need["edge"] == "data"
            ]
        )
        self.sources = self.read_from = self.depends_on = _NOTHING
        if needs or self.conditions or self.foreach is not None:
            self._find_dependencies(needs)
        self.dependents: list[TaskSpec] = []
        self.readers = 0
        self.work = work_in(form)

    def _find_dependencies(self, needs: Sequence[Mapping[str, Any]]) -> None:
        """`sources` give data, `read_from` are looked at as well, `depends_on` are all that come before."""
        values = [edge.value for edge in self.edges]
        if self.foreach is not None:
            values.append(self.foreach["from"])
        self.sources = frozenset(name for value in values for name in tasks_of(value))
        looked_at = [name for condition in self.conditions for name in tasks_of(condition["from"])]
        self.read_from = self.sources.union(looked_at) if looked_at else self.sources
        self.depends_on = self.read_from.union([need["task"] for need in needs if need["edge"] == "order"])

    def origin_of(self, name: str) -> str:
        """Where the data of this name comes from: an edge's sources, or those of the `foreach`."""
        for edge in self.edges:
            if edge.name == name:
                return edge.origin
        return _origin(self.foreach["from"]) if self.foreach is not None else ""


class RunPlan:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.policy: Mapping[str, Any] = document["policy"]
        self.agents: Mapping[str, Mapping[str, Any]] = document["agents"]
        self.adapters: Mapping[str, Mapping[str, Any]] = document["adapters"]
        self.outputs: Mapping[str, Value] = document["outputs"]
        self.waves: Sequence[Sequence[str]] = document["waves"]
        self.is_in_waves: bool = self.policy["dispatch"] == "waves"
        self.max_parallel: int = self.policy["max_parallel"]
        # What calls may take, by their adapters; a check by a command has none.
        self.terms: dict[str | None, Terms] = {name: terms_of(own) for name, own in self.adapters.items()}
        self.terms[None] = OF_A_CHECK
        self.tasks: dict[str, TaskSpec] = {}
        for number, wave in enumerate(self.waves):
            for id_ in wave:
                self.tasks[id_] = TaskSpec(id_, document["tasks"][id_], number, len(self.tasks), self.policy)
        for task in self.tasks.values():
            for name in task.depends_on:
                self.tasks[name].dependents.append(task)
            for name in task.read_from:
                self.tasks[name].readers += 1
        # The pointers by which the plan's outputs take parts of a task's output.
        self.selected: dict[str, list[str]] = {}
        for value in self.outputs.values():
            for name in set(tasks_of(value)):
                self.tasks[name].readers += 1
                self.selected.setdefault(name, []).extend(_selections(value, name))

    def ladder_of(self, task: TaskSpec, agent: str) -> tuple[Rung, ...]:
        """The tiers that the task climbs, by the plan or, for a task with a lane, by the agent that it was given to."""
        if task.ladder:
            return task.ladder
        adapters = self.agents[agent]["adapters"]
        tiers = [self.agents[agent]["tier"], *task.form.get("escalate", ())]
        return tuple(Rung(tier, adapters[tier]) for tier in tiers if tier in adapters)

    def judge_step(self, agent: str) -> Rung:
        """Who is asked when an agent judges: its own tier."""
        own = self.agents[agent]
        return Rung(own["tier"], own["adapters"][own["tier"]])


def _selections(value: Value, task: str) -> Iterator[str]:
    if value.get("task") == task:
        yield value.get("select", "")
    elif value.get("each") == task:
        yield value.get("item", "")
    for part in (*value.get("list", ()), *value.get("object", {}).values()):
        yield from _selections(part, task)


def _origin(value: Value) -> str:
    return ",".join(sorted(set(tasks_of(value))))
