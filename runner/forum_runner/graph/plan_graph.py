"""Read the nodes and edges of a wave plan for drawing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forum_runner.errors import ForumError
from forum_runner.model import EdgeKind


class TaskMark(StrEnum):
    """A task feature that drawings mark. The value is the field name in the task."""

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
        """The agent that performs the task, or the lane that selects one at run time."""
        return self.agent or (f"lane {self.lane}" if self.lane else "")


@dataclass(frozen=True, slots=True)
class GraphEdge:
    upstream: str
    downstream: str
    kind: EdgeKind
    label: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes are sorted by wave and id; edges by downstream node, kind and upstream id."""

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
    """A task id is missing from `tasks` or `waves`, or appears twice. No compiler writes such a plan."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"task {task_id!r} must appear exactly once in 'tasks' and once in 'waves' of the wave plan")


def read_graph(wave_plan: Mapping[str, Any]) -> Graph:
    """Read the graph of a wave plan that is valid against its schema."""
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
    """Yield the task's dependencies. `when` adds none: it can refer only to tasks that already come earlier."""
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
    # Use a stack instead of recursion: the plan decides how deep values nest.
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
