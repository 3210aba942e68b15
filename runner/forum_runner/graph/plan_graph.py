"""The nodes and edges of a wave plan, for drawing."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from forum_runner.manifest.units import counted
from forum_runner.model import EdgeKind
from forum_runner.wave_plan.planned_task import OrderEdge, PlannedTask
from forum_runner.wave_plan.wave_plan_reader import WavePlan


class TaskMark(StrEnum):
    """A task feature that is marked in drawings. The value is the name of its field in the plan."""

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
        return f"{counted(len(self.nodes), 'task')} in {counted(len(self.waves), 'wave')}"


def build_graph(plan: WavePlan) -> Graph:
    waves = tuple(tuple(_node(plan.tasks[task_id]) for task_id in sorted(wave)) for wave in plan.waves)
    edges = tuple(edge for wave in waves for node in wave for edge in _edges(plan.tasks[node.id]))
    return Graph(plan.metadata.name, plan.metadata.description, waves, edges)


def _node(task: PlannedTask) -> Node:
    fields = (task.gate, task.conditions, task.foreach, task.allows_failure)
    marks = tuple(mark for mark, content in zip(TaskMark, fields, strict=True) if content)
    return Node(task.id, task.wave, task.agent, task.lane, marks)


def _edges(task: PlannedTask) -> Iterator[GraphEdge]:
    """Yield one edge per kind and upstream task. Conditions add no edges, because their tasks are upstream anyway."""
    data_inputs = [(edge.value, edge.name) for edge in task.edges]
    if task.foreach:
        data_inputs.append((task.foreach.value, task.foreach.name))
    labels: defaultdict[tuple[EdgeKind, str], set[str]] = defaultdict(set)
    for value, name in data_inputs:
        for upstream in value.tasks():
            labels[EdgeKind.DATA, upstream].add(name)
    for need in task.needs:
        if isinstance(need, OrderEdge):
            labels[EdgeKind.ORDER, need.task].add("")
    for kind, upstream in sorted(labels):
        yield GraphEdge(upstream, task.id, kind, ", ".join(sorted(labels[kind, upstream])))
