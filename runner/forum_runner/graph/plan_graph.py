"""A wave plan as nodes and edges: what is left of the document once it is to be drawn."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forum_runner.errors import ForumError
from forum_runner.model import EdgeKind


class TaskMark(StrEnum):
    """What sets a task apart; the value is the task's field."""

    GATE = "gate"
    WHEN = "when"
    FOREACH = "foreach"
    ALLOW_FAILURE = "allow_failure"


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    wave: int
    agent: str | None = None
    lane: str | None = None
    marks: tuple[TaskMark, ...] = ()

    @property
    def performer(self) -> str:
        """Who does the work, or the lane that will say who."""
        return self.agent or (f"lane {self.lane}" if self.lane else "")


@dataclass(frozen=True, slots=True)
class GraphEdge:
    upstream: str
    downstream: str
    kind: EdgeKind
    label: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes are sorted by wave and id; edges by downstream (as the nodes are), kind and upstream."""

    name: str
    description: str
    waves: tuple[tuple[Node, ...], ...]
    edges: tuple[GraphEdge, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(node for wave in self.waves for node in wave)

    @property
    def summary(self) -> str:
        return f"{_count(len(self.nodes), 'task')} in {_count(len(self.waves), 'wave')}"


class MisplacedTaskError(ForumError):
    """The document was not written by a compiler: one of its ids leads nowhere, or to two places."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"wave plan must hold task {task_id!r} once in 'tasks' and once in 'waves'")


def read_graph(wave_plan: Mapping[str, Any]) -> Graph:
    """The wave plan must have passed its schema."""
    tasks: Mapping[str, Mapping[str, Any]] = wave_plan["tasks"]
    waves: list[list[str]] = wave_plan["waves"]
    _check_places(tasks, waves)
    metadata = wave_plan["metadata"]
    return Graph(
        name=metadata["name"],
        description=metadata.get("description", ""),
        waves=tuple(
            tuple(_read_node(task_id, index, tasks[task_id]) for task_id in sorted(wave))
            for index, wave in enumerate(waves)
        ),
        edges=tuple(edge for wave in waves for task_id in sorted(wave) for edge in _read_edges(task_id, tasks)),
    )


def _check_places(tasks: Mapping[str, Any], waves: Iterable[Iterable[str]]) -> None:
    placed: set[str] = set()
    for task_id in (task_id for wave in waves for task_id in wave):
        if task_id in placed or task_id not in tasks:
            raise MisplacedTaskError(task_id)
        placed.add(task_id)
    if left_out := tasks.keys() - placed:
        raise MisplacedTaskError(min(left_out))


def _read_node(task_id: str, wave: int, task: Mapping[str, Any]) -> Node:
    marks = tuple(mark for mark in TaskMark if task.get(mark))
    return Node(id=task_id, wave=wave, agent=task.get("agent"), lane=task.get("lane"), marks=marks)


def _read_edges(task_id: str, tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[GraphEdge]:
    labels: defaultdict[tuple[EdgeKind, str], set[str]] = defaultdict(set)
    for kind, upstream, label in _needs_of(tasks[task_id]):
        if upstream not in tasks:
            raise MisplacedTaskError(upstream)
        labels[kind, upstream].add(label)
    for kind, upstream in sorted(labels):
        yield GraphEdge(upstream, task_id, kind, ", ".join(sorted(labels[kind, upstream])))


def _needs_of(task: Mapping[str, Any]) -> Iterator[tuple[EdgeKind, str, str]]:
    """A condition (`when`) adds none: it may only look at a task that comes before anyway."""
    for need in task.get("needs", ()):
        if need["edge"] == EdgeKind.ORDER:
            yield EdgeKind.ORDER, need["task"], ""
        else:
            for upstream in _sources(need["from"]):
                yield EdgeKind.DATA, upstream, need["as"]
    if foreach := task.get("foreach"):
        for upstream in _sources(foreach["from"]):
            yield EdgeKind.DATA, upstream, foreach["as"]


def _sources(value: Mapping[str, Any]) -> Iterator[str]:
    # A stack in place of recursion: how deep a value nests is up to the plan.
    rest = [value]
    while rest:
        part = rest.pop()
        if "task" in part:
            yield part["task"]
        elif "each" in part:
            yield part["each"]
        elif "list" in part:
            rest.extend(part["list"])
        else:
            rest.extend(part["object"].values())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
